-- The data model of Kith: every table, by subject. Each comment says who writes
-- the rows, who reads them, and how long they live.
--
-- Times are epoch milliseconds, money is minor units of a currency, percentages
-- are basis points, sizes are bytes. Every key begins with the tenant, except in
-- tables of the whole service.
--
-- A table that is also read by another key than its primary key has rowids: in a
-- table without them, SQLite reads all rows of a tenant instead of using an index.
--
-- The component on the edge reads tenant, api_key, secure_mode, tenant_origin,
-- site, program, account, user, code and referral from its replica, and writes
-- intake only. The backend reads and writes all tables.
--
-- A later change to the schema is a file with the next number. Statements end
-- with a semicolon at the end of a line, and nothing else does.


-- Tenants and who may call for them ------------------------------------------

-- A tenant of the service: a shop, or its test tenant (test_acme). Written by
-- `kith tenant`, read by every call. Lives until `kith tenant erase`.
CREATE TABLE tenant (
  alias           TEXT NOT NULL PRIMARY KEY,
  key_hash        TEXT NOT NULL UNIQUE,    -- not read: the alias, see api_key
  key_sealed      TEXT NOT NULL,           -- not read: ''
  discount_id     TEXT NOT NULL,           -- the tenant's discount at the payment gateway
  consent         TEXT NOT NULL CHECK (consent IN ('off', 'opt-in', 'opt-out')),
  consent_cookie  TEXT NOT NULL,           -- the cookie with a visitor's answer
  created_at      INTEGER NOT NULL,
  share_origin    TEXT NOT NULL DEFAULT '',  -- where share links begin, such as https://go.shop.example; '' is the origin of the request
  -- Whether an account becomes PAID when an unsigned call of a browser says so.
  browser_payment TEXT NOT NULL DEFAULT 'any' CHECK (browser_payment IN ('any', 'signed')),
  -- How exports write dates: epoch milliseconds or ISO 8601.
  export_dates    TEXT NOT NULL DEFAULT 'MS' CHECK (export_dates IN ('MS', 'ISO')),
  namesake        INTEGER NOT NULL DEFAULT 0 CHECK (namesake IN (0, 1)),  -- 1 allows an alias that differs from another only in case
  init_checksum   INTEGER NOT NULL DEFAULT 0 CHECK (init_checksum IN (0, 1)),   -- 1 accepts the checksum of an init call
  undated_tokens  INTEGER NOT NULL DEFAULT 0 CHECK (undated_tokens IN (0, 1)),  -- 1 accepts user tokens without exp
  api_key_tokens  INTEGER NOT NULL DEFAULT 1 CHECK (api_key_tokens IN (0, 1)),  -- 1 accepts user tokens signed with an API key of the role all
  -- A policy that asks must name the cookie with the answer.
  CHECK (consent = 'off' OR consent_cookie <> '')
) STRICT, WITHOUT ROWID;
-- Aliases are unique regardless of case.
CREATE UNIQUE INDEX tenant_name ON tenant (lower(alias)) WHERE namesake = 0;

-- A secret of an API key of a tenant: a key has two while it is rotated. Written
-- by `kith tenant create`, `kith key` and the API, read by every call with a key.
-- A replaced secret is removed after it has expired, a key when it is revoked.
CREATE TABLE api_key (
  tenant      TEXT NOT NULL REFERENCES tenant (alias),
  hash        TEXT NOT NULL CHECK (hash <> ''),  -- SHA-256 of the secret, in hex
  sealed      TEXT NOT NULL,               -- the secret under the master key if it signs tokens, else ''
  name        TEXT NOT NULL CHECK (name <> '' AND name NOT GLOB '*[^-A-Za-z0-9_.]*'),
  role        TEXT NOT NULL CHECK (role IN ('all', 'read', 'events', 'import', 'tokens')),
  created_at  INTEGER NOT NULL,
  replaced_at INTEGER,                     -- when a rotation replaced the secret, else null
  expires_at  INTEGER,                     -- from then on the secret is invalid; null: it does not expire
  used_at     INTEGER,                     -- null until the first use
  PRIMARY KEY (tenant, hash),
  -- A replaced secret does not stay valid for ever.
  CHECK (replaced_at IS NULL OR expires_at IS NOT NULL)
) STRICT, WITHOUT ROWID;
-- One current secret for each name.
CREATE UNIQUE INDEX api_key_name ON api_key (tenant, name) WHERE replaced_at IS NULL;

-- Who may call an endpoint besides the holder of an API key. Written by
-- `kith tenant set`, read by every call of a browser. An endpoint without a row
-- has its default mode, which core/auth defines.
CREATE TABLE secure_mode (
  tenant   TEXT NOT NULL REFERENCES tenant (alias),
  endpoint TEXT NOT NULL,
  mode     TEXT NOT NULL CHECK (mode IN ('signed', 'open', 'disabled')),
  PRIMARY KEY (tenant, endpoint)
) STRICT, WITHOUT ROWID;

-- An origin whose pages may call the service from a browser, besides the origins
-- of landing pages. Written by `kith tenant origin`, read by calls of browsers.
-- Lives until it is removed.
CREATE TABLE tenant_origin (
  tenant     TEXT NOT NULL REFERENCES tenant (alias),
  origin     TEXT NOT NULL,                -- as browsers write it
  created_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, origin)
) STRICT, WITHOUT ROWID;

-- The tenant of a shop's host, which determines the tenant of a page request.
-- Written with a program's landing page, read by the edge. The first tenant to
-- use a host keeps it until that tenant is erased.
CREATE TABLE site (
  host   TEXT NOT NULL PRIMARY KEY COLLATE NOCASE,
  tenant TEXT NOT NULL REFERENCES tenant (alias)
) STRICT, WITHOUT ROWID;

-- A public key that may send a tenant's files over SFTP. One key may serve
-- several tenants: the client's user name is the tenant. Written by
-- `kith tenant sftp-key`, read when a client connects. Lives until it is removed.
CREATE TABLE sftp_key (
  tenant      TEXT NOT NULL REFERENCES tenant (alias),
  fingerprint TEXT NOT NULL,               -- as OpenSSH shows it: SHA256:...
  type        TEXT NOT NULL,
  note        TEXT NOT NULL,
  created_at  INTEGER NOT NULL,
  used_at     INTEGER,                     -- null until the first use
  PRIMARY KEY (tenant, fingerprint)
) STRICT, WITHOUT ROWID;


-- Programs and what they offer -----------------------------------------------

-- A referral program. Written by `kith tenant create`, `kith program` and the
-- API, read by share links and identifications. Deleted only while it has no code
-- and no referral.
CREATE TABLE program (
  tenant         TEXT NOT NULL REFERENCES tenant (alias),
  key            TEXT NOT NULL,
  name           TEXT NOT NULL,
  landing_url    TEXT NOT NULL,
  allowed_hosts  TEXT NOT NULL CHECK (json_type(allowed_hosts) = 'array'),  -- where a share link may lead besides the landing page's host
  cookie_life    INTEGER NOT NULL CHECK (cookie_life > 0),  -- milliseconds
  -- Limits on what one referrer earns; 0 is no limit.
  most_rewards   INTEGER NOT NULL CHECK (most_rewards >= 0),
  most_in_period INTEGER NOT NULL CHECK (most_in_period >= 0),
  reward_period  INTEGER NOT NULL CHECK (reward_period >= 0),  -- milliseconds
  most_discount  INTEGER NOT NULL CHECK (most_discount BETWEEN 0 AND 10000),
  -- What happens when a referral shows signs of fraud: in general, and by signal.
  fraud_handling TEXT NOT NULL CHECK (fraud_handling IN ('NONE', 'PENDING', 'DENY')),
  fraud_signals  TEXT NOT NULL CHECK (json_type(fraud_signals) = 'object'),
  daily_rewards  INTEGER NOT NULL CHECK (daily_rewards >= 0),  -- more rewards of a referrer in 24 hours are a sign of fraud; 0 is any number
  created_at     INTEGER NOT NULL,
  updated_at     INTEGER NOT NULL,
  PRIMARY KEY (tenant, key),
  -- A limit for a period needs the period.
  CHECK ((most_in_period = 0) = (reward_period = 0))
) STRICT, WITHOUT ROWID;

-- What one side of a referral earns in a program. Written and removed with the
-- program. A side without a row earns nothing.
CREATE TABLE program_reward (
  tenant      TEXT NOT NULL,
  program     TEXT NOT NULL,
  key         TEXT NOT NULL CHECK (key IN ('referrer', 'referred')),
  kind        TEXT NOT NULL CHECK (kind IN ('PCT_DISCOUNT', 'CREDIT', 'FUELTANK', 'INTEGRATION')),
  percent     INTEGER NOT NULL CHECK (percent BETWEEN 0 AND 10000),
  amount      INTEGER NOT NULL CHECK (amount >= 0),
  unit        TEXT NOT NULL,               -- '' is the default unit of the kind
  currency    TEXT NOT NULL,
  name        TEXT NOT NULL,
  description TEXT NOT NULL,
  settings    TEXT NOT NULL,               -- a JSON object for an integration, else ''
  valid_for   INTEGER NOT NULL CHECK (valid_for >= 0),    -- milliseconds; 0: the reward does not expire
  given_after INTEGER NOT NULL CHECK (given_after >= 0),  -- milliseconds; 0: at once
  PRIMARY KEY (tenant, program, key),
  FOREIGN KEY (tenant, program) REFERENCES program (tenant, key) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- A code of the tenant's own shop, which a program gives as a FUELTANK reward, in
-- the order in which codes were loaded. Loaded by `kith program fill`, taken in
-- the transaction that gives the reward. Lives as long as the program.
CREATE TABLE fuel_tank (
  seq        INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant     TEXT NOT NULL,
  program    TEXT NOT NULL,
  key        TEXT NOT NULL CHECK (key IN ('referrer', 'referred')),
  code       TEXT NOT NULL CHECK (code <> ''),
  reward_id  TEXT,                         -- null until the code is given
  created_at INTEGER NOT NULL,
  UNIQUE (tenant, program, key, code),     -- loading a code again adds nothing
  UNIQUE (tenant, reward_id),              -- a reward has one code
  FOREIGN KEY (tenant, program) REFERENCES program (tenant, key) ON DELETE CASCADE
) STRICT;
CREATE INDEX fuel_tank_left ON fuel_tank (tenant, program, key, seq) WHERE reward_id IS NULL;

-- A reward that a referral has earned while the fuel tank was empty. Written when
-- the tank is empty, removed when codes are loaded: the oldest is given first.
CREATE TABLE fuel_due (
  seq         INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant      TEXT NOT NULL,
  program     TEXT NOT NULL,
  key         TEXT NOT NULL CHECK (key IN ('referrer', 'referred')),
  referral_id TEXT NOT NULL,
  created_at  INTEGER NOT NULL,
  UNIQUE (tenant, referral_id, key),       -- a side of a referral earns one
  FOREIGN KEY (tenant, program) REFERENCES program (tenant, key) ON DELETE CASCADE
) STRICT;
CREATE INDEX fuel_due_of ON fuel_due (tenant, program, key, seq);

-- What a tenant changed about a widget. Written by `kith widget` and the API, read
-- when a widget is rendered. A widget without a row is the default one. Removed
-- with its program.
CREATE TABLE widget (
  tenant        TEXT NOT NULL REFERENCES tenant (alias),
  program       TEXT NOT NULL,             -- '' for a widget of the tenant
  key           TEXT NOT NULL,
  template      TEXT NOT NULL,             -- a whole HTML document, or '' for the default
  options       TEXT NOT NULL CHECK (options = '' OR json_type(options) = 'object'),
  branding      TEXT NOT NULL CHECK (branding = '' OR json_type(branding) = 'object'),
  widget_values TEXT NOT NULL CHECK (widget_values = '' OR json_type(widget_values) = 'object'),
  modified_at   INTEGER NOT NULL,
  PRIMARY KEY (tenant, program, key)
) STRICT, WITHOUT ROWID;


-- Accounts, users and codes --------------------------------------------------

-- An account: who pays. Written by account sync, identification, imports and the
-- payment gateway, read by all of them. Lives until it is erased.
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
  identified          INTEGER NOT NULL CHECK (identified IN (0, 1)),  -- 1 once a user of it was identified
  created_at          INTEGER NOT NULL,
  updated_at          INTEGER NOT NULL,
  PRIMARY KEY (tenant, id),
  UNIQUE (tenant, payment_provider_id)     -- a customer at the gateway pays for one account
) STRICT, WITHOUT ROWID;

-- A user of an account. Written by identification and imports, read by every call
-- about the user. Lives until the user or the account is erased.
CREATE TABLE user (
  seq            INTEGER PRIMARY KEY,      -- greater than that of every user before
  tenant         TEXT NOT NULL,
  account_id     TEXT NOT NULL,
  id             TEXT NOT NULL,
  first_name     TEXT NOT NULL,
  last_name      TEXT NOT NULL,
  email          TEXT NOT NULL,
  image_url      TEXT NOT NULL,
  locale         TEXT NOT NULL,
  country_code   TEXT NOT NULL,
  referable      INTEGER NOT NULL CHECK (referable IN (0, 1)),
  custom_fields  TEXT NOT NULL CHECK (json_type(custom_fields) = 'object'),
  segments       TEXT NOT NULL CHECK (json_type(segments) = 'array'),
  created_at     INTEGER NOT NULL,
  updated_at     INTEGER NOT NULL,
  first_seen_ip  TEXT NOT NULL DEFAULT '', -- where the user's browser was seen, or ''
  last_seen_ip   TEXT NOT NULL DEFAULT '',
  cookie_id      TEXT NOT NULL DEFAULT '', -- the id that was generated for a user without one, else ''
  us_tax_form_at INTEGER,
  blocked_at     INTEGER,                  -- since when the user may refer nobody; null: may refer
  terms          TEXT NOT NULL DEFAULT '', -- what a search finds: TENANT/TERM of each, with U+001F between them
  UNIQUE (tenant, account_id, id),
  FOREIGN KEY (tenant, account_id) REFERENCES account (tenant, id)
) STRICT;

-- The full-text index of user.terms. Every printable character belongs to a word.
-- detail=column, since with detail=none and secure-delete SQLite 3.53, and the
-- server's, leave wrong words behind when one statement changes several users.
CREATE VIRTUAL TABLE user_index USING fts5(terms, content='user', content_rowid='seq', detail=column, columnsize=0,
  tokenize="ascii tokenchars ' !""#$%&''()*+,-./:;<=>?@[\]^_`{|}~'");
-- The words of an erased user leave the index at once, not when its pages merge.
INSERT INTO user_index (user_index, rank) VALUES ('secure-delete', 1);
-- One statement adds many new users to the index (userdb.IndexNew): a trigger would
-- write a few words at a time.
CREATE TRIGGER user_gone AFTER DELETE ON user WHEN old.terms <> '' BEGIN
  INSERT INTO user_index (user_index, rowid, terms) VALUES ('delete', old.seq, old.terms); END;
CREATE TRIGGER user_found AFTER UPDATE OF terms ON user WHEN new.terms <> old.terms BEGIN
  INSERT INTO user_index (user_index, rowid, terms) SELECT 'delete', old.seq, old.terms WHERE old.terms <> ''; INSERT INTO user_index (rowid, terms)
  SELECT new.seq, new.terms WHERE new.terms <> ''; END;

-- A referral code of a user, or the name of a share link that a tenant gave a
-- user: a name is unique among both. A user may own several codes of a program:
-- all of them work, the newest is shown. Written by identification, imports and
-- GraphQL, read by share links and attribution. Removed with the user.
CREATE TABLE code (
  tenant     TEXT NOT NULL,
  code       TEXT NOT NULL COLLATE NOCASE,
  program    TEXT NOT NULL,
  account_id TEXT NOT NULL,
  user_id    TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  link_only  INTEGER NOT NULL DEFAULT 0 CHECK (link_only IN (0, 1)),  -- 1 is a share link that is not among the user's codes
  -- When it was last given as a share link; null is never. A user's primary share
  -- link in a program is the one that was given last, else that of the newest code.
  linked_at  INTEGER CHECK (linked_at IS NOT NULL OR link_only = 0),
  PRIMARY KEY (tenant, code),
  FOREIGN KEY (tenant, program) REFERENCES program (tenant, key),
  FOREIGN KEY (tenant, account_id, user_id) REFERENCES user (tenant, account_id, id)
) STRICT;
CREATE INDEX code_owner ON code (tenant, account_id, user_id);

-- A user who was deleted and must not be tracked again, as a keyed hash of the ids,
-- from which the ids cannot be computed. Written by a deletion that asks for it, read
-- by identification and imports. Lives as long as the tenant.
CREATE TABLE do_not_track (
  tenant     TEXT NOT NULL REFERENCES tenant (alias),
  identity   TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, identity)
) STRICT, WITHOUT ROWID;


-- Referrals and rewards ------------------------------------------------------

-- A referral: the account that was referred, the referrer, and the state. Written by
-- attribution and moderation, converted by the first PAID, read by GraphQL,
-- widgets and exports. Stays when users are erased, under ids without a meaning.
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
  share_link          TEXT NOT NULL,       -- '' when none is known
  referrer_moderation TEXT NOT NULL CHECK (referrer_moderation IN ('PENDING', 'APPROVED', 'DENIED')),
  referrer_by_hand    INTEGER NOT NULL CHECK (referrer_by_hand IN (0, 1)),  -- 1: a person decided, and no rule decides again
  referred_moderation TEXT NOT NULL CHECK (referred_moderation IN ('PENDING', 'APPROVED', 'DENIED')),
  referred_by_hand    INTEGER NOT NULL CHECK (referred_by_hand IN (0, 1)),
  fraud_signals       TEXT NOT NULL CHECK (json_type(fraud_signals) = 'object'),
  started_at          INTEGER NOT NULL,
  converted_at        INTEGER,
  ended_at            INTEGER,
  moderated_at        INTEGER NOT NULL,
  by_hand_at          INTEGER,             -- when a person last decided
  updated_at          INTEGER NOT NULL,
  PRIMARY KEY (tenant, id),
  UNIQUE (tenant, referred_account_id),    -- only the first code counts, also of concurrent ones
  CHECK ((state = 'converted') = (converted_at IS NOT NULL)),
  -- A conversion rewards a user, not only an account.
  CHECK (state <> 'converted' OR referred_user_id IS NOT NULL),
  -- A decision by hand has a date.
  CHECK (by_hand_at IS NOT NULL OR referrer_by_hand + referred_by_hand = 0),
  FOREIGN KEY (tenant, referred_account_id) REFERENCES account (tenant, id)
) STRICT;
CREATE INDEX referral_referrer ON referral (tenant, referrer_account_id, referrer_user_id, started_at);
CREATE INDEX referral_started ON referral (tenant, started_at, id);
-- The queues of moderators.
CREATE INDEX referral_referrer_moderation ON referral (tenant, referrer_moderation, started_at);
CREATE INDEX referral_referred_moderation ON referral (tenant, referred_moderation, started_at);

-- Why a user was attributed, or was not. One row for each claimed code and the
-- rule that decided: a claim that meets the same rule again is counted, so a page
-- that identifies on every load cannot fill the table. Written by attribution,
-- read by the API. Removed with the user.
CREATE TABLE decision (
  tenant     TEXT NOT NULL,
  id         TEXT NOT NULL,
  account_id TEXT NOT NULL,
  user_id    TEXT NOT NULL,                -- '' in an account sync
  code       TEXT NOT NULL,                -- '' when the cookie was unreadable
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
-- An erasure finds claims on the user's codes by it.
CREATE INDEX decision_code ON decision (tenant, code);

-- A reward of a user. Written by conversions, GraphQL and moderation, changed only
-- together with the ledger, read by balances, widgets and exports. Stays when its
-- user is erased, under an id without a meaning.
CREATE TABLE reward (
  tenant             TEXT NOT NULL,
  id                 TEXT NOT NULL,
  account_id         TEXT NOT NULL,
  user_id            TEXT NOT NULL,
  program            TEXT,                 -- null when no program gave it
  program_reward_key TEXT NOT NULL,
  global_reward_key  TEXT NOT NULL,
  referral_id        TEXT,                 -- null when it belongs to no referral
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
  given_at           INTEGER,              -- may be in the future; null while a hold leaves it without a date
  held               INTEGER NOT NULL CHECK (held IN (0, 1)),
  expires_at         INTEGER,
  cancelled_at       INTEGER,
  -- Sums of the ledger, updated in the transaction that adds to it.
  pending            INTEGER NOT NULL CHECK (pending IN (0, 1)),
  redeemed           INTEGER NOT NULL CHECK (redeemed >= 0),
  expired            INTEGER NOT NULL CHECK (expired >= 0),
  cancelled          INTEGER NOT NULL CHECK (cancelled >= 0),
  denied             INTEGER NOT NULL DEFAULT 0 CHECK (denied IN (0, 1)),  -- 1: moderation cancelled it, and may restore it
  PRIMARY KEY (tenant, id),
  UNIQUE (tenant, referral_id, source),    -- a referral pays each side once
  -- No more is taken from a reward than its value.
  CHECK (redeemed + expired + cancelled <= value),
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
CREATE INDEX reward_owner ON reward (tenant, account_id, user_id);
-- For the reward worker: rewards whose date of giving or of expiry may pass.
CREATE INDEX reward_to_give ON reward (given_at) WHERE pending = 1 AND held = 0 AND value > redeemed + expired + cancelled;
CREATE INDEX reward_to_expire ON reward (expires_at) WHERE expires_at IS NOT NULL AND value > redeemed + expired + cancelled;

-- All changes of a reward's value: rows are added and never changed. Written when a
-- reward is given, redeemed, cancelled or expired, read for the redemptions of a
-- reward and for idempotency keys. Lives as long as the tenant.
CREATE TABLE reward_ledger (
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
  -- The sum of a reward's amounts is its remaining value.
  CHECK (CASE WHEN action IN ('grant', 'restore') THEN amount > 0 WHEN action IN ('hold', 'release') THEN amount = 0 ELSE amount < 0 END),
  CHECK (idempotency_key IS NULL OR action = 'redeem')
) STRICT;
CREATE INDEX reward_ledger_reward ON reward_ledger (tenant, reward_id);
-- A reward is granted once.
CREATE UNIQUE INDEX reward_ledger_grant ON reward_ledger (tenant, reward_id) WHERE action = 'grant';
CREATE INDEX reward_ledger_key ON reward_ledger (tenant, idempotency_key, at) WHERE idempotency_key IS NOT NULL;
CREATE TRIGGER reward_ledger_unchanged BEFORE UPDATE ON reward_ledger BEGIN SELECT RAISE(ABORT, 'the ledger is only ever added to'); END;
-- The ledger of an erased tenant is removed with everything else.
CREATE TRIGGER reward_ledger_kept BEFORE DELETE ON reward_ledger WHEN EXISTS (SELECT 1 FROM tenant WHERE alias = OLD.tenant) BEGIN
  SELECT RAISE(ABORT, 'the ledger is only ever added to'); END;


-- Events and analytics -------------------------------------------------------

-- The event calls, in the order of their receipt. The edge and the backend append
-- them with one statement (core/event.Append). The intake worker reads them. A
-- processed call is kept for 48 hours, its idempotency key counts for 24.
CREATE TABLE intake (
  seq             INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant          TEXT NOT NULL,
  account_id      TEXT NOT NULL,
  user_id         TEXT NOT NULL,
  idempotency_key TEXT,
  events          TEXT NOT NULL CHECK (json_type(events) = 'array'),
  received_at     INTEGER NOT NULL,
  -- The API key of a call that an edge received, by auth.APIKey.ID: its use is
  -- noted when the call is processed. Null for other calls.
  key_id          TEXT
) STRICT;
CREATE INDEX intake_key ON intake (tenant, idempotency_key, received_at) WHERE idempotency_key IS NOT NULL;
-- An erasure finds the user's calls by it.
CREATE INDEX intake_user ON intake (tenant, account_id, user_id);

-- How far the intake is processed: one row, which the intake worker moves in the
-- transaction that stores the events.
CREATE TABLE intake_cursor (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  seq INTEGER NOT NULL
) STRICT;
INSERT INTO intake_cursor (one, seq) VALUES (1, 0);

-- An event of a user. Written by the intake worker, read by the API and exports.
-- Removed with the user.
CREATE TABLE event (
  tenant       TEXT NOT NULL,
  id           TEXT NOT NULL,
  account_id   TEXT NOT NULL,
  user_id      TEXT NOT NULL,
  key          TEXT NOT NULL,
  fields       TEXT NOT NULL,              -- JSON, as it was sent
  triggered_at INTEGER NOT NULL,
  received_at  INTEGER NOT NULL,
  processed_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, id)
) STRICT;
CREATE INDEX event_user ON event (tenant, account_id, user_id, received_at);

-- How often share links were visited and widgets loaded or shared, by day: rows
-- grow with the days, not with the calls. Written by the analytics worker, read by
-- the API. Nothing else depends on them. Removed with the user.
CREATE TABLE analytics (
  tenant            TEXT NOT NULL REFERENCES tenant (alias),
  day               INTEGER NOT NULL,      -- its first moment, UTC
  kind              TEXT NOT NULL CHECK (kind IN ('visited', 'loaded', 'shared')),
  account_id        TEXT NOT NULL,         -- '' for a visit
  user_id           TEXT NOT NULL,         -- '' for a visit
  program           TEXT NOT NULL,         -- '' when unknown
  code              TEXT NOT NULL,         -- '' for a widget
  engagement_medium TEXT NOT NULL,
  share_medium      TEXT NOT NULL,
  times             INTEGER NOT NULL CHECK (times > 0),
  PRIMARY KEY (tenant, day, kind, account_id, user_id, program, code, engagement_medium, share_medium)
) STRICT, WITHOUT ROWID;
-- An erasure finds the counts of a user, and of the user's codes, by these.
CREATE INDEX analytics_user ON analytics (tenant, account_id, user_id);
CREATE INDEX analytics_code ON analytics (tenant, code);


-- Jobs and their files -------------------------------------------------------

-- A file of a tenant: an upload, or the result of a job. The row is written before
-- the file, so that a file of a killed process is removed like any other.
-- Both are removed when the file expires: 28 days after the upload, or after the
-- end of the job that wrote it.
CREATE TABLE file (
  tenant     TEXT NOT NULL REFERENCES tenant (alias),
  ref        TEXT NOT NULL,
  size       INTEGER CHECK (size >= 0),    -- null until the file is complete
  hash       TEXT NOT NULL,                -- SHA-256 of an upload, in hex, else ''
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, ref)
) STRICT;
CREATE INDEX file_expiry ON file (expires_at);
-- An upload of the same content is found by it.
CREATE INDEX file_content ON file (tenant, hash) WHERE hash <> '';

-- An export or an import. Created by the API, leased and completed by a job
-- worker, read by the API. Removed 56 days after it ended.
CREATE TABLE job (
  tenant       TEXT NOT NULL REFERENCES tenant (alias),
  id           TEXT NOT NULL,
  type         TEXT NOT NULL,
  name         TEXT NOT NULL,
  requester    TEXT NOT NULL,
  mail_to      TEXT NOT NULL,
  format       TEXT NOT NULL CHECK (format IN ('CSV', 'XLSX')),
  params       TEXT NOT NULL CHECK (json_type(params) = 'object'),
  file         TEXT,                       -- the upload that an import reads
  -- PENDING until a worker sets COMPLETED or ABORTED.
  status       TEXT NOT NULL CHECK (status IN ('PENDING', 'COMPLETED', 'ABORTED')),
  message      TEXT NOT NULL,
  processed    INTEGER NOT NULL CHECK (processed >= 0),
  errors       INTEGER NOT NULL CHECK (errors BETWEEN 0 AND processed),
  result_file  TEXT,
  errors_file  TEXT,
  -- The worker's lease: attempt rejects writes of a worker that lost the lease; when
  -- the lease expires, another worker may take over.
  attempt      INTEGER NOT NULL CHECK (attempt >= 0),
  tries        INTEGER NOT NULL CHECK (tries BETWEEN 0 AND attempt),  -- attempts without progress
  leased_until INTEGER NOT NULL,
  created_at   INTEGER NOT NULL,
  completed_at INTEGER,
  expires_at   INTEGER,
  -- How many bytes of its decompressed file an import has processed: updated in the
  -- transaction that stores the changes of the rows before it.
  position     INTEGER NOT NULL DEFAULT 0 CHECK (position >= 0),
  PRIMARY KEY (tenant, id),
  -- A job that ended has its dates, and one that failed says why.
  CHECK ((status = 'PENDING') = (completed_at IS NULL)),
  CHECK ((completed_at IS NULL) = (expires_at IS NULL)),
  CHECK (status <> 'ABORTED' OR message <> '')
) STRICT;
CREATE INDEX job_list ON job (tenant, created_at);
CREATE INDEX job_waiting ON job (leased_until) WHERE status = 'PENDING';
CREATE INDEX job_expiry ON job (expires_at) WHERE expires_at IS NOT NULL;
-- The import of a file that is imported again is found by it.
CREATE INDEX job_file ON job (tenant, file) WHERE file IS NOT NULL;

-- A chunk of the result file and the errors file of an import, compressed: what one
-- batch reports about its rows. Written in the batch's transaction, removed when the
-- job ends and the chunks become its files.
CREATE TABLE job_part (
  tenant TEXT NOT NULL,
  job_id TEXT NOT NULL,
  seq    INTEGER NOT NULL,
  result BLOB,                             -- null when no row has a result
  errors BLOB,                             -- null when no row was rejected
  PRIMARY KEY (tenant, job_id, seq),
  FOREIGN KEY (tenant, job_id) REFERENCES job (tenant, id) ON DELETE CASCADE
) STRICT;


-- Webhooks: events sent to a tenant's own systems -----------------------------

-- An endpoint that gets a tenant's events. Written by the API, read by the webhook
-- worker and by every transaction that may have something to report. Lives until
-- it is removed.
CREATE TABLE webhook_subscription (
  tenant        TEXT NOT NULL REFERENCES tenant (alias),
  url           TEXT NOT NULL,
  name          TEXT NOT NULL,
  secret        TEXT NOT NULL,             -- sealed under the master key
  old_secret    TEXT,                      -- the previous secret: it signs too until old_until
  old_until     INTEGER,
  failing_since INTEGER,                   -- null while the endpoint works
  disabled_at   INTEGER,                   -- null while it gets events
  created_at    INTEGER NOT NULL,
  PRIMARY KEY (tenant, url),
  CHECK ((old_secret IS NULL) = (old_until IS NULL))
) STRICT, WITHOUT ROWID;

-- An event that is reported: written in the transaction that changes the state,
-- and only for a tenant with a subscription. Removed after 30 days, when no
-- delivery of it is left.
CREATE TABLE webhook_event (
  seq        INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant     TEXT NOT NULL,
  id         TEXT NOT NULL,
  type       TEXT NOT NULL,
  data       TEXT NOT NULL CHECK (json_valid(data)),
  created_at INTEGER NOT NULL,
  UNIQUE (tenant, id)
) STRICT;
CREATE INDEX webhook_event_created ON webhook_event (created_at);

-- The delivery of an event to an endpoint. Written with the event, changed by the
-- webhook worker and by a replay. Removed 30 days after it ended.
CREATE TABLE webhook_delivery (
  tenant     TEXT NOT NULL,
  url        TEXT NOT NULL,
  event_id   TEXT NOT NULL,
  -- A worker leases a waiting delivery and sends it. A sending one is delivered,
  -- waits for another try, or failed for good. A replay makes it wait again.
  state      TEXT NOT NULL CHECK (state IN ('waiting', 'sending', 'delivered', 'failed')),
  attempt    INTEGER NOT NULL CHECK (attempt >= 0),  -- the last one begun; it never falls, so it fences
  tries      INTEGER NOT NULL CHECK (tries BETWEEN 0 AND attempt),  -- attempts since the event, or since the replay
  due_at     INTEGER,                      -- the next attempt, or the end of the lease
  created_at INTEGER NOT NULL,
  ended_at   INTEGER,
  PRIMARY KEY (tenant, url, event_id),
  -- A delivery is either due or ended.
  CHECK ((state IN ('waiting', 'sending')) = (due_at IS NOT NULL)),
  CHECK ((due_at IS NULL) = (ended_at IS NOT NULL)),
  FOREIGN KEY (tenant, url) REFERENCES webhook_subscription (tenant, url) ON DELETE CASCADE,
  FOREIGN KEY (tenant, event_id) REFERENCES webhook_event (tenant, id)
) STRICT;
CREATE INDEX webhook_delivery_line ON webhook_delivery (tenant, url, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX webhook_delivery_due ON webhook_delivery (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX webhook_delivery_ended ON webhook_delivery (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX webhook_delivery_event ON webhook_delivery (tenant, event_id);

-- How one attempt of a delivery went. Written by the webhook worker, read by the
-- API. Removed with the delivery.
CREATE TABLE webhook_attempt (
  tenant     TEXT NOT NULL,
  url        TEXT NOT NULL,
  event_id   TEXT NOT NULL,
  number     INTEGER NOT NULL CHECK (number > 0),
  started_at INTEGER NOT NULL,
  duration   INTEGER NOT NULL CHECK (duration >= 0),  -- milliseconds
  status     INTEGER NOT NULL CHECK (status BETWEEN 0 AND 999),  -- of HTTP; 0 when there was no answer
  error      TEXT NOT NULL,
  answer     TEXT NOT NULL,
  PRIMARY KEY (tenant, url, event_id, number),
  CHECK ((status = 0) = (error <> '')),    -- there was an answer, or a reason why not
  FOREIGN KEY (tenant, url, event_id) REFERENCES webhook_delivery (tenant, url, event_id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- The service's own keys: the one that is not retired signs for all tenants.
-- Written by the first backend that starts and by `kith webhook rotate-key`,
-- published by the API. A retired key is published for 7 days, and its row stays.
CREATE TABLE webhook_key (
  id         TEXT NOT NULL PRIMARY KEY,
  modulus    TEXT NOT NULL,                -- the public half, in base64url
  sealed     TEXT NOT NULL,                -- the private half in PKCS #8, under the master key
  created_at INTEGER NOT NULL,
  retired_at INTEGER
) STRICT, WITHOUT ROWID;
-- One key signs.
CREATE UNIQUE INDEX webhook_key_current ON webhook_key (retired_at IS NULL) WHERE retired_at IS NULL;

-- A prefix of addresses that are not public, which the events of a test tenant may
-- be sent to. Written by `kith webhook allow`, read by the webhook worker. Lives
-- until it is removed.
CREATE TABLE webhook_allowed (
  tenant TEXT NOT NULL REFERENCES tenant (alias),
  prefix TEXT NOT NULL,
  PRIMARY KEY (tenant, prefix)
) STRICT, WITHOUT ROWID;


-- The payment gateway --------------------------------------------------------

-- How a tenant's payment gateway is reached. Written by `kith gateway`, read by
-- the gateway worker and the gateway's notifications. Lives until the gateway is
-- disconnected.
CREATE TABLE gateway_connection (
  tenant       TEXT NOT NULL PRIMARY KEY REFERENCES tenant (alias),
  merchant_id  TEXT NOT NULL CHECK (merchant_id <> ''),
  base_url     TEXT NOT NULL,              -- '' is the gateway's own host
  created_at   INTEGER NOT NULL,
  checked_at   INTEGER,                    -- when the gateway last sent a check
  -- When the gateway was last asked for new subscriptions, and for all of them; 0
  -- is never. No notification reports a new one.
  swept_at     INTEGER NOT NULL DEFAULT 0 CHECK (swept_at >= 0),
  swept_all_at INTEGER NOT NULL DEFAULT 0 CHECK (swept_all_at >= 0),
  sweep_at     INTEGER NOT NULL DEFAULT 0 CHECK (sweep_at >= 0)  -- when to ask next
) STRICT, WITHOUT ROWID;
CREATE INDEX gateway_connection_sweep ON gateway_connection (sweep_at);

-- The keys of a connection. Written and removed with it.
CREATE TABLE gateway_key (
  tenant      TEXT NOT NULL REFERENCES gateway_connection (tenant) ON DELETE CASCADE,
  public_key  TEXT NOT NULL CHECK (public_key <> ''),
  private_key TEXT NOT NULL,               -- sealed under the master key
  place       INTEGER NOT NULL CHECK (place >= 0),  -- the key at place 0 makes the calls
  PRIMARY KEY (tenant, public_key),
  UNIQUE (tenant, place)
) STRICT, WITHOUT ROWID;

-- A notification of a gateway, in the order of arrival. Written by the API, read
-- once by the gateway worker. The row stays, so that a repeated notification is
-- known. The payload, which names people and cards, is emptied 30 days after it
-- was read.
CREATE TABLE gateway_notification (
  seq         INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant      TEXT NOT NULL REFERENCES tenant (alias),
  hash        TEXT NOT NULL CHECK (length(hash) = 64),  -- SHA-256 of the payload, in hex
  payload     TEXT NOT NULL,               -- as received; '' once it is old
  kind        TEXT NOT NULL,               -- '' until it is read
  problem     TEXT NOT NULL,               -- why it could not be read, or ''
  received_at INTEGER NOT NULL,
  read_at     INTEGER,                     -- null while it waits
  UNIQUE (tenant, hash)
) STRICT;
CREATE INDEX gateway_notification_waiting ON gateway_notification (seq) WHERE read_at IS NULL;
CREATE INDEX gateway_notification_old ON gateway_notification (read_at) WHERE payload <> '';

-- What is known of a subscription at the gateway, and what its discount is to be.
-- Written by notifications, sweeps and the gateway worker, which reads them. Lives
-- as long as the tenant.
CREATE TABLE gateway_subscription (
  tenant       TEXT NOT NULL REFERENCES tenant (alias),
  id           TEXT NOT NULL,
  customer_id  TEXT NOT NULL,              -- '' until it is read
  account_id   TEXT,                       -- null while no account has the customer
  status       TEXT NOT NULL,              -- '' until it is read
  in_trial     INTEGER NOT NULL CHECK (in_trial IN (0, 1)),
  paid         INTEGER NOT NULL CHECK (paid IN (0, 1)),
  wanted       INTEGER NOT NULL CHECK (wanted >= 0),  -- what its discount is to be
  folded       INTEGER NOT NULL CHECK (folded BETWEEN 0 AND wanted),  -- the credit in it
  problem      TEXT NOT NULL,              -- why the gateway could not be updated, or ''
  attempt      INTEGER NOT NULL CHECK (attempt >= 0),  -- it never falls, so it fences
  tries        INTEGER NOT NULL CHECK (tries >= 0),    -- failures in a row
  due_at       INTEGER,                    -- when to read it next
  leased_until INTEGER,                    -- not null while a worker has a lease
  created_at   INTEGER NOT NULL,
  -- The first day of the latest cycle whose bill was seen, such as 2026-11-21, or
  -- '': only the first bill of a cycle uses credit.
  period       TEXT NOT NULL DEFAULT '',
  opened_at    INTEGER NOT NULL DEFAULT 0 CHECK (opened_at >= 0),  -- when it was made at the gateway, or 0 until it is read; credit goes to the oldest
  PRIMARY KEY (tenant, id)
) STRICT;
CREATE INDEX gateway_subscription_due ON gateway_subscription (due_at) WHERE leased_until IS NULL AND due_at IS NOT NULL;
CREATE INDEX gateway_subscription_leased ON gateway_subscription (leased_until) WHERE leased_until IS NOT NULL;
CREATE INDEX gateway_subscription_account ON gateway_subscription (tenant, account_id);
CREATE INDEX gateway_subscription_customer ON gateway_subscription (tenant, customer_id);

-- A charge of an account at the gateway. Written by the gateway worker, which
-- reads it so that a charge uses credit once. Lives as long as the tenant.
CREATE TABLE gateway_bill (
  tenant          TEXT NOT NULL REFERENCES tenant (alias),
  transaction_id  TEXT NOT NULL,
  subscription_id TEXT NOT NULL,
  account_id      TEXT NOT NULL,
  amount          INTEGER NOT NULL CHECK (amount > 0),
  discount        INTEGER NOT NULL CHECK (discount >= 0),  -- the tenant's
  credit          INTEGER NOT NULL CHECK (credit BETWEEN 0 AND discount),  -- the credit that it used
  first           INTEGER NOT NULL CHECK (first IN (0, 1)),  -- 1: it made the account PAID
  seen_at         INTEGER NOT NULL,
  charged_at      INTEGER NOT NULL DEFAULT 0 CHECK (charged_at >= 0),  -- the oldest charge is an account's first, whichever was seen first
  PRIMARY KEY (tenant, transaction_id)
) STRICT, WITHOUT ROWID;
-- One charge made an account PAID.
CREATE UNIQUE INDEX gateway_bill_first ON gateway_bill (tenant, account_id) WHERE first = 1;

-- Money that is to be given back, or was. Written when the first charge of a
-- converted account lacked its discount, executed by the gateway worker. Lives as
-- long as the tenant.
CREATE TABLE gateway_refund (
  tenant          TEXT NOT NULL REFERENCES tenant (alias),
  transaction_id  TEXT NOT NULL,           -- the charge that is refunded
  account_id      TEXT NOT NULL,
  subscription_id TEXT NOT NULL,
  amount          INTEGER NOT NULL CHECK (amount > 0),
  currency        TEXT NOT NULL,
  -- waiting until the gateway worker sets done or failed.
  state           TEXT NOT NULL CHECK (state IN ('waiting', 'done', 'failed')),
  key_number      INTEGER NOT NULL CHECK (key_number > 0),  -- of the idempotency key at the gateway: 1 more after each refusal
  refund_id       TEXT NOT NULL,           -- the gateway's, once it is done
  problem         TEXT NOT NULL,
  created_at      INTEGER NOT NULL,
  ended_at        INTEGER,
  PRIMARY KEY (tenant, transaction_id),
  UNIQUE (tenant, account_id),             -- an account gets one refund
  CHECK ((state = 'waiting') = (ended_at IS NULL)),
  CHECK ((state = 'done') = (refund_id <> ''))
) STRICT, WITHOUT ROWID;
CREATE INDEX gateway_refund_waiting ON gateway_refund (tenant, subscription_id) WHERE state = 'waiting';

-- The referral code that is to be in the custom field of a customer at the
-- gateway. Written with a discount registration, sent by the gateway worker. Lives
-- as long as the tenant.
CREATE TABLE gateway_coupon (
  tenant      TEXT NOT NULL REFERENCES tenant (alias),
  customer_id TEXT NOT NULL CHECK (customer_id <> ''),
  code        TEXT NOT NULL CHECK (code <> ''),
  problem     TEXT NOT NULL,               -- why it could not be written, or ''
  tries       INTEGER NOT NULL CHECK (tries >= 0),  -- failures in a row
  due_at      INTEGER,                     -- when to write it next; null once it is written, or cannot be
  PRIMARY KEY (tenant, customer_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX gateway_coupon_due ON gateway_coupon (due_at) WHERE due_at IS NOT NULL;


-- The service itself ---------------------------------------------------------

-- When the backend last wrote: one row, which it updates every second. Its age on
-- a replica is how far the replica is behind.
CREATE TABLE heartbeat (
  one     INTEGER PRIMARY KEY CHECK (one = 1),
  beat_at INTEGER NOT NULL
) STRICT;
INSERT INTO heartbeat (one, beat_at) VALUES (1, 0);

-- The master key that the secrets of this database are sealed under, by its
-- fingerprint: one row, which every process checks before it writes.
CREATE TABLE master_key (
  one         INTEGER PRIMARY KEY CHECK (one = 1),
  fingerprint TEXT NOT NULL,               -- '' until the database is first opened for writing
  -- The key that is replacing it, '' when none is. Processes need both meanwhile.
  next        TEXT NOT NULL DEFAULT '',
  -- The first master key, sealed under the current one; '' while it is the current
  -- one. The hashes in do_not_track use it, and they cannot be computed again,
  -- because the ids are erased.
  identity    TEXT NOT NULL DEFAULT ''
) STRICT;
INSERT INTO master_key (one, fingerprint) VALUES (1, '');
