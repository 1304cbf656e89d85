-- Visits of share links, counted where the link is answered: by an edge, or by the
-- backend. Nothing in these tables is about a visitor.

-- How often share links were followed, by day. Written by the trigger below, read by
-- the API. A row without a code counts visitors who do not permit the attribution
-- cookie, and visits of the codes of erased users. Lives as long as the tenant.
CREATE TABLE visit (
  tenant            TEXT NOT NULL REFERENCES tenant (alias),
  day               INTEGER NOT NULL,      -- its first moment, UTC
  program           TEXT NOT NULL,
  code              TEXT NOT NULL,         -- as the code is stored, or ''
  engagement_medium TEXT NOT NULL,         -- '' when the link named none
  share_medium      TEXT NOT NULL,         -- '' when the link named none
  visits            INTEGER NOT NULL CHECK (visits >= 0),      -- by people
  bot_visits        INTEGER NOT NULL CHECK (bot_visits >= 0),  -- by bots, prefetches and HEAD
  PRIMARY KEY (tenant, day, program, code, engagement_medium, share_medium)
) STRICT;
-- The visits of a code, and of the codes of a user.
CREATE INDEX visit_code ON visit (tenant, code, day);

-- A batch of visits of a tenant that was added to visit: an edge or a backend that got
-- no answer sends the batch again, under the same id, and it is not added twice.
-- Removed after 48 hours; no process sends a batch for longer than 24.
CREATE TABLE visit_batch (
  tenant      TEXT NOT NULL REFERENCES tenant (alias),
  id          TEXT NOT NULL,
  received_at INTEGER NOT NULL,
  -- A list of [tenant, day, program, code, engagement medium, share medium, visits,
  -- bot visits]; '[]' once it is added.
  visits      TEXT NOT NULL CHECK (json_type(visits) = 'array'),
  PRIMARY KEY (tenant, id)
) STRICT;
CREATE INDEX visit_batch_received ON visit_batch (received_at);

-- Adds a batch in the statement that stores it. A code that was removed meanwhile
-- counts for its program only.
CREATE TRIGGER visit_batch_added AFTER INSERT ON visit_batch WHEN new.visits <> '[]' BEGIN
  INSERT INTO visit (tenant, day, program, code, engagement_medium, share_medium, visits, bot_visits)
  SELECT new.tenant, v.value ->> 1, v.value ->> 2, coalesce((SELECT c.code FROM code c WHERE c.tenant = new.tenant AND c.code = v.value ->> 3), ''),
    v.value ->> 4, v.value ->> 5, v.value ->> 6, v.value ->> 7
  FROM json_each(new.visits) v WHERE true
  ON CONFLICT DO UPDATE SET visits = visits + excluded.visits, bot_visits = bot_visits + excluded.bot_visits; UPDATE visit_batch SET visits = '[]'
  WHERE tenant = new.tenant AND id = new.id; END;

-- What the analytics of a period count.
CREATE INDEX referral_converted ON referral (tenant, converted_at) WHERE converted_at IS NOT NULL;
CREATE INDEX reward_ledger_granted ON reward_ledger (tenant, at) WHERE action = 'grant';
