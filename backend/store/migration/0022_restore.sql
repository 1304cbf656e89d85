-- A moderation that denied may be taken back: what it took from a reward is
-- restored. The ledger is made anew, since SQLite cannot change a CHECK; its
-- lines are the same.

ALTER TABLE reward ADD COLUMN denied INTEGER NOT NULL DEFAULT 0 CHECK (denied IN (0, 1));

CREATE TABLE reward_ledger_next (
  seq             INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant          TEXT NOT NULL,
  id              TEXT NOT NULL,
  reward_id       TEXT NOT NULL,
  action          TEXT NOT NULL CHECK (action IN ('grant', 'hold', 'release', 'redeem', 'expire', 'cancel', 'restore')),
  amount          INTEGER NOT NULL,
  unit            TEXT NOT NULL,
  idempotency_key TEXT,
  at              INTEGER NOT NULL,
  UNIQUE (tenant, id),
  CHECK (CASE WHEN action IN ('grant', 'restore') THEN amount > 0 WHEN action IN ('hold', 'release') THEN amount = 0 ELSE amount < 0 END),
  CHECK (idempotency_key IS NULL OR action = 'redeem')
) STRICT;

INSERT INTO reward_ledger_next (seq, tenant, id, reward_id, action, amount, unit, idempotency_key, at)
  SELECT seq, tenant, id, reward_id, action, amount, unit, idempotency_key, at FROM reward_ledger;

DROP TABLE reward_ledger;
ALTER TABLE reward_ledger_next RENAME TO reward_ledger;
CREATE INDEX reward_ledger_reward ON reward_ledger (tenant, reward_id);
CREATE UNIQUE INDEX reward_ledger_grant ON reward_ledger (tenant, reward_id) WHERE action = 'grant';
CREATE INDEX reward_ledger_key ON reward_ledger (tenant, idempotency_key, at) WHERE idempotency_key IS NOT NULL;
CREATE TRIGGER reward_ledger_unchanged BEFORE UPDATE ON reward_ledger BEGIN SELECT RAISE(ABORT, 'the ledger is only ever added to'); END;
CREATE TRIGGER reward_ledger_kept BEFORE DELETE ON reward_ledger BEGIN SELECT RAISE(ABORT, 'the ledger is only ever added to'); END;
