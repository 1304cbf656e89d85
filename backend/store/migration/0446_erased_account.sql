-- An account that was deleted, as a keyed hash of its id or of its customer at the gateway,
-- from which neither can be computed. Written by its deletion, removed at forget_at. A
-- notification of a gateway does not make such an account again; with earned 1, because it
-- had converted or paid, it cannot be referred again.
CREATE TABLE erased_account (
  tenant    TEXT NOT NULL REFERENCES tenant (alias),
  identity  TEXT NOT NULL,
  earned    INTEGER NOT NULL CHECK (earned IN (0, 1)),
  forget_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, identity)
) STRICT, WITHOUT ROWID;
CREATE INDEX erased_account_forget ON erased_account (forget_at);
-- For how long deleted accounts are recognised, in milliseconds; 0: they are not.
ALTER TABLE tenant ADD COLUMN remember_deleted INTEGER NOT NULL DEFAULT 31536000000 CHECK (remember_deleted >= 0);
-- Subscriptions keep a pseudonym of an erased account, by which their discount ends. Those
-- of accounts that were erased before get one.
UPDATE gateway_subscription SET account_id = 'deleted:' || lower(hex(randomblob(12))), user_id = '', code = '', due_at = 0
  WHERE account_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM account WHERE account.tenant = gateway_subscription.tenant AND account.id = account_id);
CREATE INDEX gateway_bill_account ON gateway_bill (tenant, account_id);
