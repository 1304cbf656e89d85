-- The ledger of a tenant that is there is only ever added to; that of one who
-- was erased goes with all else.
DROP TRIGGER reward_ledger_kept;
CREATE TRIGGER reward_ledger_kept BEFORE DELETE ON reward_ledger WHEN EXISTS (SELECT 1 FROM tenant WHERE alias = OLD.tenant) BEGIN SELECT RAISE(ABORT, 'the ledger is only ever added to'); END;
