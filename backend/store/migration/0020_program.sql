-- A program names its rewards by key, bounds what one referrer can earn, and
-- says what becomes of a referral that looks like fraud.
--
-- Codes refer to programs: their references are looked at when all is done.

PRAGMA defer_foreign_keys = ON;

CREATE TABLE program_before AS SELECT * FROM program;

DROP TABLE program;

CREATE TABLE program (
  tenant         TEXT NOT NULL REFERENCES tenant (alias),
  key            TEXT NOT NULL,
  name           TEXT NOT NULL,
  landing_url    TEXT NOT NULL,
  allowed_hosts  TEXT NOT NULL CHECK (json_type(allowed_hosts) = 'array'),
  cookie_life    INTEGER NOT NULL CHECK (cookie_life > 0),
  -- Bounds of what one referrer earns; 0 is none.
  most_rewards   INTEGER NOT NULL CHECK (most_rewards >= 0),
  most_in_period INTEGER NOT NULL CHECK (most_in_period >= 0),
  reward_period  INTEGER NOT NULL CHECK (reward_period >= 0),
  most_discount  INTEGER NOT NULL CHECK (most_discount BETWEEN 0 AND 10000),
  -- What is done about signs of fraud, in general and by signal.
  fraud_handling TEXT NOT NULL CHECK (fraud_handling IN ('NONE', 'PENDING', 'DENY')),
  fraud_signals  TEXT NOT NULL CHECK (json_type(fraud_signals) = 'object'),
  daily_rewards  INTEGER NOT NULL CHECK (daily_rewards >= 0),
  created_at     INTEGER NOT NULL,
  updated_at     INTEGER NOT NULL,
  PRIMARY KEY (tenant, key),
  -- A number of rewards in a period needs the period.
  CHECK ((most_in_period = 0) = (reward_period = 0))
) STRICT, WITHOUT ROWID;

INSERT INTO program
SELECT tenant, key, name, landing_url, allowed_hosts, cookie_life, 0, 0, 0, 0, 'NONE', '{}', 0, created_at, created_at
FROM program_before;

-- What a side of a referral earns; a side without a row earns nothing.
CREATE TABLE program_reward (
  tenant      TEXT NOT NULL,
  program     TEXT NOT NULL,
  key         TEXT NOT NULL CHECK (key IN ('referrer', 'referred')),
  kind        TEXT NOT NULL CHECK (kind IN ('PCT_DISCOUNT', 'CREDIT', 'FUELTANK', 'INTEGRATION')),
  percent     INTEGER NOT NULL CHECK (percent BETWEEN 0 AND 10000),
  amount      INTEGER NOT NULL CHECK (amount >= 0),
  unit        TEXT NOT NULL,               -- empty for the usual one of its kind
  currency    TEXT NOT NULL,
  name        TEXT NOT NULL,
  description TEXT NOT NULL,
  settings    TEXT NOT NULL,               -- a JSON object for an integration, or empty
  valid_for   INTEGER NOT NULL CHECK (valid_for >= 0),
  given_after INTEGER NOT NULL CHECK (given_after >= 0),
  PRIMARY KEY (tenant, program, key),
  FOREIGN KEY (tenant, program) REFERENCES program (tenant, key) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

INSERT INTO program_reward
SELECT tenant, key, 'referred', referred_kind, referred_percent, referred_amount,
  '', referred_currency, '', '', '', 0, 0
FROM program_before WHERE referred_kind <> '';

INSERT INTO program_reward
SELECT tenant, key, 'referrer', referrer_kind, referrer_percent, referrer_amount,
  '', referrer_currency, '', '', '', 0, 0
FROM program_before WHERE referrer_kind <> '';

DROP TABLE program_before;
