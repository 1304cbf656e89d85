-- Conversion by event: what a program says about it, the orders of referred accounts,
-- and the events from which they are made.

-- The rule by which an event converts and the terms of both rewards, as JSON; '' if
-- the first PAID converts and there are no terms.
ALTER TABLE program ADD COLUMN conversion TEXT NOT NULL DEFAULT '' CHECK (conversion = '' OR json_type(conversion) = 'object');

-- The percentage of an order's revenue that is the amount; 0 for a fixed one.
ALTER TABLE program_reward ADD COLUMN of_revenue INTEGER NOT NULL DEFAULT 0 CHECK (of_revenue BETWEEN 0 AND 10000);

-- What a program was from a time on, so that a change does not change what earlier
-- orders earn. Written with the program, once an event converts; a program without
-- rows has never converted by events. Removed with the program.
CREATE TABLE program_version (
  tenant   TEXT NOT NULL,
  program  TEXT NOT NULL,
  since    INTEGER NOT NULL,
  event    TEXT NOT NULL,                  -- the event that converts; '' for PAID
  reversal TEXT NOT NULL,                  -- the event that takes an order back; '' for PAID
  settings TEXT NOT NULL CHECK (json_type(settings) = 'object'),  -- the whole program, as the API shows it
  PRIMARY KEY (tenant, program, since),
  FOREIGN KEY (tenant, program) REFERENCES program (tenant, key) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- When the account was referred by the clock of its events: an event with the same code
-- moves it back. Null until an event of the account was applied.
ALTER TABLE referral ADD COLUMN attributed_at INTEGER;

-- Whether the sender of a call had the API key. Only such events convert: any page can
-- send the others. Calls from edges of earlier versions have 0.
ALTER TABLE intake ADD COLUMN trusted INTEGER NOT NULL DEFAULT 0 CHECK (trusted IN (0, 1));
ALTER TABLE event ADD COLUMN trusted INTEGER NOT NULL DEFAULT 0 CHECK (trusted IN (0, 1));

-- An order of a referred account: the event that placed it, its refunds, and what the
-- rules decided. Written by the orders worker. Stays as long as its referral.
CREATE TABLE referral_order (
  tenant              TEXT NOT NULL,
  referral_id         TEXT NOT NULL,
  order_key           TEXT NOT NULL,       -- the shop's order_id, or the id of the event
  program             TEXT NOT NULL,
  referrer_account_id TEXT NOT NULL,
  referrer_user_id    TEXT NOT NULL,
  event_id            TEXT,                -- null while only refunds came
  placed_at           INTEGER NOT NULL,    -- 0 while only refunds came
  revenue             INTEGER CHECK (revenue >= 0),  -- in minor units; null without
  currency            TEXT NOT NULL,
  refused             TEXT NOT NULL,       -- why the rule refuses the event, else ''
  detail              TEXT NOT NULL,       -- the condition that failed, else ''
  refunds             TEXT NOT NULL CHECK (json_type(refunds) = 'array'),
  -- What was decided. It is decided again when an earlier order arrives late.
  reason              TEXT NOT NULL,       -- why the order does not count, else ''
  number              INTEGER NOT NULL CHECK (number >= 0),      -- among those of its referral that count; 0: does not count
  conversion          INTEGER NOT NULL CHECK (conversion >= 0),  -- the referrer's conversions up to it
  referrer_reason     TEXT NOT NULL,       -- why the referrer earns nothing, else ''
  referred_reason     TEXT NOT NULL,
  referrer_gives      INTEGER NOT NULL CHECK (referrer_gives IN (0, 1)),  -- 1: counts for the limits of the referrer
  referrer_reward_id  TEXT,
  referred_reward_id  TEXT,
  updated_at          INTEGER NOT NULL,
  PRIMARY KEY (tenant, referral_id, order_key),
  CHECK ((event_id IS NULL) = (placed_at = 0)),
  CHECK (number = 0 OR reason = ''),
  FOREIGN KEY (tenant, referral_id) REFERENCES referral (tenant, id)
) STRICT;
-- The sequence of a referrer's orders, and those of them that count for tiers and
-- limits.
CREATE INDEX referral_order_sequence ON referral_order (tenant, program, referrer_account_id, referrer_user_id, placed_at, referral_id, order_key) WHERE event_id IS NOT NULL;
CREATE INDEX referral_order_conversion ON referral_order (tenant, program, referrer_account_id, referrer_user_id, placed_at, referral_id, order_key) WHERE number = 1;
CREATE INDEX referral_order_rewarded ON referral_order (tenant, program, referrer_account_id, referrer_user_id, placed_at, referral_id, order_key) WHERE referrer_gives = 1;
CREATE INDEX referral_order_placed ON referral_order (tenant, referral_id, placed_at, order_key) WHERE event_id IS NOT NULL;
-- An erasure finds the orders of a referrer by it.
CREATE INDEX referral_order_referrer ON referral_order (tenant, referrer_account_id, referrer_user_id);

-- The events that may place or take back an order, in the order of their processing.
-- Written with the event, removed by the orders worker in the transaction that applies
-- the event.
CREATE TABLE order_event (
  seq      INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant   TEXT NOT NULL REFERENCES tenant (alias),
  event_id TEXT NOT NULL
) STRICT;

-- From where the orders of a referrer in a program are to be decided again. Written
-- when that does not fit one transaction, moved and removed by the orders worker.
CREATE TABLE order_replay (
  tenant      TEXT NOT NULL,
  program     TEXT NOT NULL,
  account_id  TEXT NOT NULL,               -- the referrer
  user_id     TEXT NOT NULL,
  placed_at   INTEGER NOT NULL,
  referral_id TEXT NOT NULL,
  order_key   TEXT NOT NULL,
  moderated   TEXT NOT NULL,               -- the referral whose rewards follow its moderation again; '' to decide all orders again
  PRIMARY KEY (tenant, account_id, user_id, program, moderated),
  FOREIGN KEY (tenant, program) REFERENCES program (tenant, key) ON DELETE CASCADE
) STRICT;
