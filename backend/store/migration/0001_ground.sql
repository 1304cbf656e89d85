-- Every table's key begins with the tenant. Times are epoch milliseconds, money
-- is minor units, percentages are basis points.
--
-- A table that is also read by another key than its own has rowids: without
-- them, SQLite takes the rows of a whole tenant for a better way to one of them
-- than an index.

CREATE TABLE tenant (
  alias          TEXT NOT NULL PRIMARY KEY,
  key_hash       TEXT NOT NULL UNIQUE,     -- SHA-256 of the API key, in hex
  key_sealed     TEXT NOT NULL,            -- the API key under the master key: it signs user tokens
  discount_id    TEXT NOT NULL,
  consent        TEXT NOT NULL CHECK (consent IN ('off', 'opt-in', 'opt-out')),
  consent_cookie TEXT NOT NULL,
  created_at     INTEGER NOT NULL,
  -- A policy that asks must name the cookie with the answer.
  CHECK (consent = 'off' OR consent_cookie <> '')
) STRICT, WITHOUT ROWID;

-- The hosts of shops, so that a page request tells whose visitor it is.
CREATE TABLE site (
  host   TEXT NOT NULL PRIMARY KEY COLLATE NOCASE,
  tenant TEXT NOT NULL REFERENCES tenant (alias)
) STRICT, WITHOUT ROWID;

CREATE TABLE program (
  tenant            TEXT NOT NULL REFERENCES tenant (alias),
  key               TEXT NOT NULL,
  name              TEXT NOT NULL,
  landing_url       TEXT NOT NULL,
  allowed_hosts     TEXT NOT NULL CHECK (json_type(allowed_hosts) = 'array'),
  cookie_life       INTEGER NOT NULL CHECK (cookie_life > 0),
  referred_kind     TEXT NOT NULL CHECK (referred_kind IN ('', 'PCT_DISCOUNT', 'CREDIT')),
  referred_percent  INTEGER NOT NULL CHECK (referred_percent BETWEEN 0 AND 10000),
  referred_amount   INTEGER NOT NULL CHECK (referred_amount >= 0),
  referred_currency TEXT NOT NULL,
  referrer_kind     TEXT NOT NULL CHECK (referrer_kind IN ('', 'PCT_DISCOUNT', 'CREDIT')),
  referrer_percent  INTEGER NOT NULL CHECK (referrer_percent BETWEEN 0 AND 10000),
  referrer_amount   INTEGER NOT NULL CHECK (referrer_amount >= 0),
  referrer_currency TEXT NOT NULL,
  created_at        INTEGER NOT NULL,
  PRIMARY KEY (tenant, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE account (
  tenant              TEXT NOT NULL REFERENCES tenant (alias),
  id                  TEXT NOT NULL,
  currency            TEXT NOT NULL,
  status              TEXT NOT NULL CHECK (status IN ('TRIAL', 'PAID', 'FREE', 'CANCELLED')),
  billing_interval    TEXT NOT NULL,
  billing_value       INTEGER NOT NULL,
  value               TEXT NOT NULL,       -- a JSON number, as it was sent
  payment_provider_id TEXT,
  first_paid_at       INTEGER,             -- set once, never changed
  identified          INTEGER NOT NULL CHECK (identified IN (0, 1)),
  created_at          INTEGER NOT NULL,
  updated_at          INTEGER NOT NULL,
  PRIMARY KEY (tenant, id),
  UNIQUE (tenant, payment_provider_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE user (
  tenant        TEXT NOT NULL,
  account_id    TEXT NOT NULL,
  id            TEXT NOT NULL,
  first_name    TEXT NOT NULL,
  last_name     TEXT NOT NULL,
  email         TEXT NOT NULL,
  image_url     TEXT NOT NULL,
  locale        TEXT NOT NULL,
  country_code  TEXT NOT NULL,
  referable     INTEGER NOT NULL CHECK (referable IN (0, 1)),
  custom_fields TEXT NOT NULL CHECK (json_type(custom_fields) = 'object'),
  segments      TEXT NOT NULL CHECK (json_type(segments) = 'array'),
  created_at    INTEGER NOT NULL,
  updated_at    INTEGER NOT NULL,
  PRIMARY KEY (tenant, account_id, id),
  FOREIGN KEY (tenant, account_id) REFERENCES account (tenant, id)
) STRICT, WITHOUT ROWID;

-- A user may come to own several codes of a program; all of them work, the
-- newest is shown.
CREATE TABLE code (
  tenant     TEXT NOT NULL,
  code       TEXT NOT NULL COLLATE NOCASE,
  program    TEXT NOT NULL,
  account_id TEXT NOT NULL,
  user_id    TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, code),
  FOREIGN KEY (tenant, program) REFERENCES program (tenant, key),
  FOREIGN KEY (tenant, account_id, user_id) REFERENCES user (tenant, account_id, id)
) STRICT;
CREATE INDEX code_owner ON code (tenant, account_id, user_id);

CREATE TABLE referral (
  tenant              TEXT NOT NULL,
  id                  TEXT NOT NULL,
  program             TEXT NOT NULL,
  state               TEXT NOT NULL CHECK (state IN ('in-progress', 'converted')),
  code                TEXT NOT NULL,
  referrer_account_id TEXT NOT NULL,
  referrer_user_id    TEXT NOT NULL,
  referred_account_id TEXT NOT NULL,
  referred_user_id    TEXT,                -- null until a user of the account is identified
  share_medium        TEXT NOT NULL,
  started_at          INTEGER NOT NULL,
  converted_at        INTEGER,
  ended_at            INTEGER,
  PRIMARY KEY (tenant, id),
  UNIQUE (tenant, referred_account_id),    -- the first code counts, whatever races it
  CHECK ((state = 'converted') = (converted_at IS NOT NULL)),
  CHECK (state <> 'converted' OR referred_user_id IS NOT NULL),
  FOREIGN KEY (tenant, referred_account_id) REFERENCES account (tenant, id)
) STRICT;
CREATE INDEX referral_referrer ON referral (tenant, referrer_account_id, referrer_user_id);

CREATE TABLE reward (
  tenant       TEXT NOT NULL,
  id           TEXT NOT NULL,
  account_id   TEXT NOT NULL,
  user_id      TEXT NOT NULL,
  program      TEXT NOT NULL,
  referral_id  TEXT NOT NULL,
  source       TEXT NOT NULL CHECK (source IN ('FRIEND_SIGNUP', 'REFERRED')),
  kind         TEXT NOT NULL CHECK (kind IN ('PCT_DISCOUNT', 'CREDIT')),
  percent      INTEGER NOT NULL CHECK (percent BETWEEN 0 AND 10000),
  amount       INTEGER NOT NULL CHECK (amount >= 0),
  currency     TEXT NOT NULL,
  redeemed     INTEGER NOT NULL CHECK (redeemed BETWEEN 0 AND amount),
  created_at   INTEGER NOT NULL,
  cancelled_at INTEGER,
  PRIMARY KEY (tenant, id),
  UNIQUE (tenant, referral_id, source)     -- a referral pays each side once
) STRICT;
CREATE INDEX reward_owner ON reward (tenant, account_id, user_id);

-- Why was this user (not) attributed? One row for each claim and the rule that
-- decided; a claim that meets the same rule again is counted, so that a page
-- that identifies on every load cannot fill the table.
CREATE TABLE decision (
  tenant     TEXT NOT NULL,
  id         TEXT NOT NULL,
  account_id TEXT NOT NULL,
  user_id    TEXT NOT NULL,                -- empty in an account sync
  code       TEXT NOT NULL,                -- empty when the cookie was unreadable
  source     TEXT NOT NULL,
  rule       TEXT NOT NULL,
  accepted   INTEGER NOT NULL CHECK (accepted IN (0, 1)),
  inputs     TEXT NOT NULL CHECK (json_type(inputs) = 'object'),
  times      INTEGER NOT NULL CHECK (times > 0),
  first_at   INTEGER NOT NULL,
  last_at    INTEGER NOT NULL,
  PRIMARY KEY (tenant, id),
  UNIQUE (tenant, account_id, user_id, code, source, rule)
) STRICT;

-- Event calls in the order of their receipt. Rows are appended by the edge and
-- by the backend with one statement (core/event.Append) and never changed.
CREATE TABLE intake (
  seq             INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant          TEXT NOT NULL,
  account_id      TEXT NOT NULL,
  user_id         TEXT NOT NULL,
  idempotency_key TEXT,
  events          TEXT NOT NULL CHECK (json_type(events) = 'array'),
  received_at     INTEGER NOT NULL
) STRICT;
CREATE INDEX intake_key ON intake (tenant, idempotency_key, received_at) WHERE idempotency_key IS NOT NULL;

-- How far the intake has been processed: moved in the transaction that holds
-- the effects.
CREATE TABLE intake_cursor (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  seq INTEGER NOT NULL
) STRICT;
INSERT INTO intake_cursor (one, seq) VALUES (1, 0);

CREATE TABLE event (
  tenant       TEXT NOT NULL,
  id           TEXT NOT NULL,
  account_id   TEXT NOT NULL,
  user_id      TEXT NOT NULL,
  key          TEXT NOT NULL,
  fields       TEXT NOT NULL,
  triggered_at INTEGER NOT NULL,
  received_at  INTEGER NOT NULL,
  processed_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, id)
) STRICT;
CREATE INDEX event_user ON event (tenant, account_id, user_id, received_at);
