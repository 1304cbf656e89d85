-- What was found about a referral, and what was decided about its sides. The
-- table is made anew, since SQLite cannot add constraints.

CREATE TABLE referral_next (
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
  share_link          TEXT NOT NULL,       -- empty when none is known
  referrer_moderation TEXT NOT NULL CHECK (referrer_moderation IN ('PENDING', 'APPROVED', 'DENIED')),
  referrer_by_hand    INTEGER NOT NULL CHECK (referrer_by_hand IN (0, 1)),
  referred_moderation TEXT NOT NULL CHECK (referred_moderation IN ('PENDING', 'APPROVED', 'DENIED')),
  referred_by_hand    INTEGER NOT NULL CHECK (referred_by_hand IN (0, 1)),
  fraud_signals       TEXT NOT NULL CHECK (json_type(fraud_signals) = 'object'),
  started_at          INTEGER NOT NULL,
  converted_at        INTEGER,
  ended_at            INTEGER,
  moderated_at        INTEGER NOT NULL,
  by_hand_at          INTEGER,             -- when somebody decided last
  updated_at          INTEGER NOT NULL,
  PRIMARY KEY (tenant, id),
  UNIQUE (tenant, referred_account_id),    -- the first code counts, whatever races it
  CHECK ((state = 'converted') = (converted_at IS NOT NULL)),
  CHECK (state <> 'converted' OR referred_user_id IS NOT NULL),
  CHECK (by_hand_at IS NOT NULL OR referrer_by_hand + referred_by_hand = 0),
  FOREIGN KEY (tenant, referred_account_id) REFERENCES account (tenant, id)
) STRICT;

INSERT INTO referral_next (tenant, id, program, state, code, referrer_account_id, referrer_user_id, referred_account_id,
    referred_user_id, share_medium, share_link, referrer_moderation, referrer_by_hand, referred_moderation, referred_by_hand,
    fraud_signals, started_at, converted_at, ended_at, moderated_at, updated_at)
  SELECT tenant, id, program, state, code, referrer_account_id, referrer_user_id, referred_account_id,
    referred_user_id, share_medium, '', 'APPROVED', 0, 'APPROVED', 0,
    '{}', started_at, converted_at, ended_at, started_at, max(started_at, coalesce(converted_at, 0), coalesce(ended_at, 0))
  FROM referral;

DROP TABLE referral;
ALTER TABLE referral_next RENAME TO referral;
CREATE INDEX referral_referrer ON referral (tenant, referrer_account_id, referrer_user_id, started_at);
CREATE INDEX referral_started ON referral (tenant, started_at, id);
-- The queues of whoever moderates.
CREATE INDEX referral_referrer_moderation ON referral (tenant, referrer_moderation, started_at);
CREATE INDEX referral_referred_moderation ON referral (tenant, referred_moderation, started_at);
