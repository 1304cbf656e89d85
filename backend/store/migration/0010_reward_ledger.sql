-- Rewards of every kind, and the ledger of what becomes of them. The reward
-- table is made anew, since SQLite cannot change a CHECK.

CREATE TABLE reward_next (
  tenant             TEXT NOT NULL,
  id                 TEXT NOT NULL,
  account_id         TEXT NOT NULL,
  user_id            TEXT NOT NULL,
  program            TEXT,                 -- null when no program gave it
  program_reward_key TEXT NOT NULL,
  global_reward_key  TEXT NOT NULL,
  referral_id        TEXT,                 -- null when it belongs to none
  source             TEXT NOT NULL CHECK (source IN ('FRIEND_SIGNUP', 'REFERRED', 'MANUAL', 'AUTOMATED', 'ACTIVATION', 'ACQUISITION', 'RETENTION', 'REACTIVATION')),
  kind               TEXT NOT NULL CHECK (kind IN ('PCT_DISCOUNT', 'CREDIT', 'FUELTANK', 'INTEGRATION')),
  unit               TEXT NOT NULL,
  value              INTEGER NOT NULL CHECK (value >= 0),  -- in unit; basis points of a percentage
  currency           TEXT NOT NULL,
  name               TEXT NOT NULL,
  description        TEXT NOT NULL,
  fuel_tank_code     TEXT,
  fuel_tank_type     TEXT CHECK (fuel_tank_type IN ('PCT_DISCOUNT', 'CREDIT')),
  settings           TEXT CHECK (json_type(settings) = 'object'),
  cancellable        INTEGER NOT NULL CHECK (cancellable IN (0, 1)),
  created_at         INTEGER NOT NULL,
  scheduled_at       INTEGER,
  given_at           INTEGER,              -- may be to come; null when a hold keeps it from having a date
  held               INTEGER NOT NULL CHECK (held IN (0, 1)),
  expires_at         INTEGER,
  cancelled_at       INTEGER,
  -- What the ledger says, summed up in the transaction that adds to it.
  pending            INTEGER NOT NULL CHECK (pending IN (0, 1)),
  redeemed           INTEGER NOT NULL CHECK (redeemed >= 0),
  expired            INTEGER NOT NULL CHECK (expired >= 0),
  cancelled          INTEGER NOT NULL CHECK (cancelled >= 0),
  PRIMARY KEY (tenant, id),
  UNIQUE (tenant, referral_id, source),    -- a referral pays each side once
  CHECK (redeemed + expired + cancelled <= value),
  CHECK ((kind = 'PCT_DISCOUNT') = (unit = '%') OR kind = 'FUELTANK'),
  CHECK (kind <> 'PCT_DISCOUNT' OR value <= 10000),
  CHECK ((kind = 'FUELTANK') = (fuel_tank_code IS NOT NULL)),
  CHECK ((fuel_tank_code IS NULL) = (fuel_tank_type IS NULL)),
  CHECK (given_at IS NOT NULL OR held = 1),
  CHECK (held = 0 OR pending = 1),
  CHECK (cancelled = 0 OR cancelled_at IS NOT NULL),
  CHECK (expired = 0 OR expires_at IS NOT NULL)
) STRICT;

INSERT INTO reward_next (tenant, id, account_id, user_id, program, program_reward_key, global_reward_key, referral_id,
    source, kind, unit, value, currency, name, description, cancellable, created_at, given_at, held, cancelled_at,
    pending, redeemed, expired, cancelled)
  SELECT tenant, id, account_id, user_id, program, '', '', referral_id,
    source, kind, iif(kind = 'PCT_DISCOUNT', '%', 'CENTS'), iif(kind = 'PCT_DISCOUNT', percent, amount), currency, '', '', 1,
    created_at, created_at, 0, cancelled_at, 0, redeemed, 0,
    iif(cancelled_at IS NULL, 0, iif(kind = 'PCT_DISCOUNT', percent, amount) - redeemed)
  FROM reward;

DROP TABLE reward;
ALTER TABLE reward_next RENAME TO reward;
CREATE INDEX reward_owner ON reward (tenant, account_id, user_id);
-- For the worker: what has a date before it and is not over.
CREATE INDEX reward_to_give ON reward (given_at) WHERE pending = 1 AND held = 0 AND value > redeemed + expired + cancelled;
CREATE INDEX reward_to_expire ON reward (expires_at) WHERE expires_at IS NOT NULL AND value > redeemed + expired + cancelled;

CREATE TABLE reward_ledger (
  seq             INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant          TEXT NOT NULL,
  id              TEXT NOT NULL,
  reward_id       TEXT NOT NULL,
  action          TEXT NOT NULL CHECK (action IN ('grant', 'hold', 'release', 'redeem', 'expire', 'cancel')),
  amount          INTEGER NOT NULL,
  unit            TEXT NOT NULL,
  idempotency_key TEXT,
  at              INTEGER NOT NULL,
  UNIQUE (tenant, id),
  CHECK (CASE action WHEN 'grant' THEN amount > 0 WHEN 'hold' THEN amount = 0 WHEN 'release' THEN amount = 0 ELSE amount < 0 END),
  CHECK (idempotency_key IS NULL OR action = 'redeem')
) STRICT;
CREATE INDEX reward_ledger_reward ON reward_ledger (tenant, reward_id);
CREATE UNIQUE INDEX reward_ledger_grant ON reward_ledger (tenant, reward_id) WHERE action = 'grant';
CREATE INDEX reward_ledger_key ON reward_ledger (tenant, idempotency_key, at) WHERE idempotency_key IS NOT NULL;
CREATE TRIGGER reward_ledger_unchanged BEFORE UPDATE ON reward_ledger BEGIN SELECT RAISE(ABORT, 'the ledger is only ever added to'); END;
CREATE TRIGGER reward_ledger_kept BEFORE DELETE ON reward_ledger BEGIN SELECT RAISE(ABORT, 'the ledger is only ever added to'); END;

INSERT INTO reward_ledger (tenant, id, reward_id, action, amount, unit, at)
  SELECT tenant, lower(hex(randomblob(12))), id, 'grant', value, unit, created_at FROM reward WHERE value > 0;
INSERT INTO reward_ledger (tenant, id, reward_id, action, amount, unit, at)
  SELECT tenant, lower(hex(randomblob(12))), id, 'redeem', -redeemed, unit, created_at FROM reward WHERE redeemed > 0;
INSERT INTO reward_ledger (tenant, id, reward_id, action, amount, unit, at)
  SELECT tenant, lower(hex(randomblob(12))), id, 'cancel', -cancelled, unit, cancelled_at FROM reward WHERE cancelled > 0;
