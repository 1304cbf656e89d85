-- Rewards of orders: an order that is refunded or corrected changes what it earned.
-- SQLite cannot change a CHECK, so both tables are copied.

-- A reward of a user. Written by conversions, GraphQL and moderation, changed only
-- together with the ledger, read by balances, widgets and exports. Stays when its
-- user is erased, under an id without a meaning.
CREATE TABLE reward_new (
  tenant             TEXT NOT NULL,
  id                 TEXT NOT NULL,
  account_id         TEXT NOT NULL,
  user_id            TEXT NOT NULL,
  program            TEXT,                 -- null when no program gave it
  program_reward_key TEXT NOT NULL,
  global_reward_key  TEXT NOT NULL,
  referral_id        TEXT,                 -- null when it belongs to no referral
  order_key          TEXT NOT NULL DEFAULT '',  -- '' when no order earned it
  source             TEXT NOT NULL CHECK (source IN ('FRIEND_SIGNUP', 'REFERRED', 'MANUAL', 'AUTOMATED', 'ACTIVATION', 'ACQUISITION', 'RETENTION', 'REACTIVATION')),
  kind               TEXT NOT NULL CHECK (kind IN ('PCT_DISCOUNT', 'CREDIT', 'FUELTANK', 'INTEGRATION')),
  unit               TEXT NOT NULL,
  value              INTEGER NOT NULL CHECK (value >= 0),  -- in unit; basis points of a percentage; 0 when its order earns nothing
  currency           TEXT NOT NULL,
  name               TEXT NOT NULL,
  description        TEXT NOT NULL,
  fuel_tank_code     TEXT,
  fuel_tank_type     TEXT CHECK (fuel_tank_type IN ('PCT_DISCOUNT', 'CREDIT')),
  settings           TEXT CHECK (json_type(settings) = 'object'),
  cancellable        INTEGER NOT NULL CHECK (cancellable IN (0, 1)),
  created_at         INTEGER NOT NULL,
  scheduled_at       INTEGER,
  given_at           INTEGER,              -- may be in the future; null while a hold leaves it without a date
  held               INTEGER NOT NULL CHECK (held IN (0, 1)),
  expires_at         INTEGER,
  cancelled_at       INTEGER,
  -- Sums of the ledger, updated in the transaction that adds to it.
  pending            INTEGER NOT NULL CHECK (pending IN (0, 1)),
  redeemed           INTEGER NOT NULL CHECK (redeemed >= 0),
  expired            INTEGER NOT NULL CHECK (expired >= 0),
  cancelled          INTEGER NOT NULL CHECK (cancelled >= 0),
  reversed           INTEGER NOT NULL DEFAULT 0 CHECK (reversed >= 0),  -- taken back by refunds
  settled            INTEGER NOT NULL DEFAULT 0,  -- moved to debts of the owner; negative in a debt
  refunded           INTEGER NOT NULL DEFAULT 0,  -- what refunds are to take back in total; reversed is what they took
  denied             INTEGER NOT NULL DEFAULT 0 CHECK (denied IN (0, 1)),  -- 1: moderation cancelled it, and may restore it
  PRIMARY KEY (tenant, id),
  UNIQUE (tenant, referral_id, source, order_key),  -- a referral pays each side once for each order
  -- No more is taken from a reward than its value. Of a credit of an order, refunds take
  -- back even what was redeemed: its balance is then negative, which is a debt.
  CHECK (expired + cancelled + reversed <= value),
  CHECK (redeemed + expired + cancelled + reversed + settled <= value OR kind = 'CREDIT' AND order_key <> ''),
  CHECK (refunded BETWEEN 0 AND value),
  -- Only credit settles debts, and of a debt no more is settled than was redeemed.
  CHECK (settled = 0 OR kind = 'CREDIT'),
  CHECK (settled >= -redeemed),
  -- A percentage is measured in %, and nothing else is.
  CHECK ((kind = 'PCT_DISCOUNT') = (unit = '%') OR kind = 'FUELTANK'),
  CHECK (kind <> 'PCT_DISCOUNT' OR value <= 10000),
  -- A fuel tank reward is a code, which has a type.
  CHECK ((kind = 'FUELTANK') = (fuel_tank_code IS NOT NULL)),
  CHECK ((fuel_tank_code IS NULL) = (fuel_tank_type IS NULL)),
  -- Only a hold leaves a reward without a date, and what is held is pending.
  CHECK (given_at IS NOT NULL OR held = 1),
  CHECK (held = 0 OR pending = 1),
  -- What was taken from a reward has its date.
  CHECK (cancelled = 0 OR cancelled_at IS NOT NULL),
  CHECK (expired = 0 OR expires_at IS NOT NULL)
) STRICT;
INSERT INTO reward_new (tenant, id, account_id, user_id, program, program_reward_key, global_reward_key, referral_id, source, kind, unit, value,
  currency, name, description, fuel_tank_code, fuel_tank_type, settings, cancellable, created_at, scheduled_at, given_at, held,
  expires_at, cancelled_at, pending, redeemed, expired, cancelled, denied)
  SELECT tenant, id, account_id, user_id, program, program_reward_key, global_reward_key, referral_id, source, kind, unit, value,
  currency, name, description, fuel_tank_code, fuel_tank_type, settings, cancellable, created_at, scheduled_at, given_at, held,
  expires_at, cancelled_at, pending, redeemed, expired, cancelled, denied FROM reward ORDER BY rowid;
DROP TABLE reward;
ALTER TABLE reward_new RENAME TO reward;
CREATE INDEX reward_owner ON reward (tenant, account_id, user_id);
-- The first reward of each side of a referral.
CREATE INDEX reward_first ON reward (tenant, referral_id, source, created_at, id) WHERE referral_id IS NOT NULL;
-- For the reward worker: rewards whose date of giving or of expiry may pass.
CREATE INDEX reward_to_give ON reward (given_at) WHERE pending = 1 AND held = 0 AND value > redeemed + expired + cancelled + reversed + settled;
CREATE INDEX reward_to_expire ON reward (expires_at) WHERE expires_at IS NOT NULL AND value > redeemed + expired + cancelled + reversed + settled;

-- All changes of a reward's value: rows are added and never changed. Written when a
-- reward is given, redeemed, cancelled, expired, taken back or corrected, read for the
-- redemptions of a reward and for idempotency keys. Lives as long as the tenant.
CREATE TABLE reward_ledger_new (
  seq             INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant          TEXT NOT NULL,
  id              TEXT NOT NULL,
  reward_id       TEXT NOT NULL,
  action          TEXT NOT NULL CHECK (action IN ('grant', 'hold', 'release', 'redeem', 'expire', 'cancel', 'restore', 'reverse', 'adjust', 'settle')),
  amount          INTEGER NOT NULL,
  unit            TEXT NOT NULL,
  idempotency_key TEXT,
  at              INTEGER NOT NULL,
  UNIQUE (tenant, id),
  -- The sum of a reward's amounts is its remaining value. An expiry, a cancellation, a
  -- reversal and an adjustment may be corrected, and a settlement has two sides.
  CHECK (CASE WHEN action IN ('grant', 'restore') THEN amount > 0 WHEN action IN ('hold', 'release') THEN amount = 0 WHEN action = 'redeem' THEN amount < 0 ELSE amount <> 0 END),
  CHECK (idempotency_key IS NULL OR action = 'redeem')
) STRICT;
INSERT INTO reward_ledger_new (seq, tenant, id, reward_id, action, amount, unit, idempotency_key, at)
  SELECT seq, tenant, id, reward_id, action, amount, unit, idempotency_key, at FROM reward_ledger ORDER BY seq;
-- No number is used again, not even one of an erased tenant.
DELETE FROM sqlite_sequence WHERE name = 'reward_ledger_new';
INSERT INTO sqlite_sequence (name, seq) SELECT 'reward_ledger_new', seq FROM sqlite_sequence WHERE name = 'reward_ledger';
DROP TABLE reward_ledger;
ALTER TABLE reward_ledger_new RENAME TO reward_ledger;
CREATE INDEX reward_ledger_reward ON reward_ledger (tenant, reward_id);
-- A reward is granted once.
CREATE UNIQUE INDEX reward_ledger_grant ON reward_ledger (tenant, reward_id) WHERE action = 'grant';
CREATE INDEX reward_ledger_key ON reward_ledger (tenant, idempotency_key, at) WHERE idempotency_key IS NOT NULL;
CREATE TRIGGER reward_ledger_unchanged BEFORE UPDATE ON reward_ledger BEGIN SELECT RAISE(ABORT, 'the ledger is only ever added to'); END;
-- The ledger of an erased tenant is removed with everything else.
CREATE TRIGGER reward_ledger_kept BEFORE DELETE ON reward_ledger WHEN EXISTS (SELECT 1 FROM tenant WHERE alias = OLD.tenant) BEGIN
  SELECT RAISE(ABORT, 'the ledger is only ever added to'); END;
