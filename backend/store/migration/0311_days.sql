-- Totals by day, which triggers keep, so that figures of a period read as many rows as it
-- has days and not as many as it has visits and referrals. They are derived: backups
-- leave them out, and the triggers fill them again. A total that falls to 0 stays.

-- Visits by day, without codes. Written by triggers of visit, read by the API and the
-- portal. Lives as long as the tenant.
CREATE TABLE visit_day (
  tenant            TEXT NOT NULL,
  day               INTEGER NOT NULL,      -- its first moment, UTC
  program           TEXT NOT NULL,
  engagement_medium TEXT NOT NULL,
  share_medium      TEXT NOT NULL,
  visits            INTEGER NOT NULL,
  bot_visits        INTEGER NOT NULL,
  PRIMARY KEY (tenant, day, program, engagement_medium, share_medium)
) STRICT, WITHOUT ROWID;
INSERT INTO visit_day SELECT tenant, day, program, engagement_medium, share_medium, sum(visits), sum(bot_visits) FROM visit GROUP BY 1, 2, 3, 4, 5;
CREATE TRIGGER visit_added AFTER INSERT ON visit BEGIN
  INSERT INTO visit_day VALUES (new.tenant, new.day, new.program, new.engagement_medium, new.share_medium, new.visits, new.bot_visits)
  ON CONFLICT DO UPDATE SET visits = visits + excluded.visits, bot_visits = bot_visits + excluded.bot_visits; END;
CREATE TRIGGER visit_counted AFTER UPDATE OF visits, bot_visits ON visit BEGIN
  UPDATE visit_day SET visits = visits + new.visits - old.visits, bot_visits = bot_visits + new.bot_visits - old.bot_visits
  WHERE tenant = new.tenant AND day = new.day AND program = new.program AND engagement_medium = new.engagement_medium AND share_medium = new.share_medium; END;
CREATE TRIGGER visit_removed AFTER DELETE ON visit BEGIN
  UPDATE visit_day SET visits = visits - old.visits, bot_visits = bot_visits - old.bot_visits
  WHERE tenant = old.tenant AND day = old.day AND program = old.program AND engagement_medium = old.engagement_medium AND share_medium = old.share_medium; END;

-- Referrals by the day on which they started, and by the day on which they converted.
-- Written by triggers of referral, read by the API and the portal. Lives as long as the
-- tenant. The program and the medium of a referral, and when it started, never change.
CREATE TABLE referral_day (
  tenant       TEXT NOT NULL,
  day          INTEGER NOT NULL,           -- its first moment, UTC
  program      TEXT NOT NULL,
  share_medium TEXT NOT NULL,
  joined       INTEGER NOT NULL,
  converted    INTEGER NOT NULL,
  PRIMARY KEY (tenant, day, program, share_medium)
) STRICT, WITHOUT ROWID;
INSERT INTO referral_day SELECT tenant, day, program, share_medium, sum(joined), sum(converted) FROM (
  SELECT tenant, started_at - started_at % 86400000 AS day, program, share_medium, 1 AS joined, 0 AS converted FROM referral
  UNION ALL SELECT tenant, converted_at - converted_at % 86400000, program, share_medium, 0, 1 FROM referral WHERE converted_at IS NOT NULL) GROUP BY 1, 2, 3, 4;
CREATE TRIGGER referral_added AFTER INSERT ON referral BEGIN
  INSERT INTO referral_day VALUES (new.tenant, new.started_at - new.started_at % 86400000, new.program, new.share_medium, 1, 0)
  ON CONFLICT DO UPDATE SET joined = joined + 1; INSERT INTO referral_day
  SELECT new.tenant, new.converted_at - new.converted_at % 86400000, new.program, new.share_medium, 0, 1 WHERE new.converted_at IS NOT NULL
  ON CONFLICT DO UPDATE SET converted = converted + 1; END;
CREATE TRIGGER referral_moved AFTER UPDATE OF converted_at ON referral WHEN old.converted_at IS NOT new.converted_at BEGIN
  UPDATE referral_day SET converted = converted - 1
  WHERE tenant = old.tenant AND day = old.converted_at - old.converted_at % 86400000 AND program = old.program AND share_medium = old.share_medium; INSERT INTO referral_day
  SELECT new.tenant, new.converted_at - new.converted_at % 86400000, new.program, new.share_medium, 0, 1 WHERE new.converted_at IS NOT NULL
  ON CONFLICT DO UPDATE SET converted = converted + 1; END;
CREATE TRIGGER referral_removed AFTER DELETE ON referral BEGIN
  UPDATE referral_day SET joined = joined - 1
  WHERE tenant = old.tenant AND day = old.started_at - old.started_at % 86400000 AND program = old.program AND share_medium = old.share_medium; UPDATE referral_day SET converted = converted - 1
  WHERE tenant = old.tenant AND day = old.converted_at - old.converted_at % 86400000 AND program = old.program AND share_medium = old.share_medium; END;

-- What rewards cost, by the day on which they were granted: the sum of their ledgers
-- without what was redeemed, what expired, and what settled the debt of another reward.
-- Percentages cost nothing by themselves. Written by triggers of reward_ledger and reward,
-- read by the API and the portal. Lives as long as the tenant.
CREATE TABLE reward_day (
  tenant       TEXT NOT NULL,
  day          INTEGER NOT NULL,           -- its first moment, UTC
  program      TEXT NOT NULL,              -- '' when no program gave it
  share_medium TEXT NOT NULL,              -- of its referral, '' when it has none
  unit         TEXT NOT NULL,
  currency     TEXT NOT NULL,
  cost         INTEGER NOT NULL,
  PRIMARY KEY (tenant, day, program, share_medium, unit, currency)
) STRICT, WITHOUT ROWID;
INSERT INTO reward_day SELECT w.tenant, g.at - g.at % 86400000, coalesce(w.program, ''), coalesce(f.share_medium, ''), w.unit, w.currency, sum(l.amount)
  FROM reward_ledger g CROSS JOIN reward w ON w.tenant = g.tenant AND w.id = g.reward_id
    CROSS JOIN reward_ledger l ON l.tenant = g.tenant AND l.reward_id = g.reward_id AND l.action NOT IN ('redeem', 'expire', 'settle')
    LEFT JOIN referral f ON f.tenant = w.tenant AND f.id = w.referral_id
  WHERE g.action = 'grant' AND w.unit <> '%' GROUP BY 1, 2, 3, 4, 5, 6;
-- An entry before the grant counts with the grant, since only then the reward has a day.
CREATE TRIGGER reward_ledger_added AFTER INSERT ON reward_ledger WHEN new.amount <> 0 AND new.action NOT IN ('redeem', 'expire', 'settle') BEGIN
  INSERT INTO reward_day SELECT w.tenant, g.at - g.at % 86400000, coalesce(w.program, ''),
    coalesce((SELECT f.share_medium FROM referral f WHERE f.tenant = new.tenant AND f.id = w.referral_id), ''), w.unit, w.currency,
    CASE new.action WHEN 'grant' THEN (SELECT sum(l.amount) FROM reward_ledger l
      WHERE l.tenant = new.tenant AND l.reward_id = new.reward_id AND l.action NOT IN ('redeem', 'expire', 'settle')) ELSE new.amount END
  FROM reward w CROSS JOIN reward_ledger g ON g.tenant = new.tenant AND g.reward_id = new.reward_id AND g.action = 'grant'
  WHERE w.tenant = new.tenant AND w.id = new.reward_id AND w.unit <> '%'
  ON CONFLICT DO UPDATE SET cost = cost + excluded.cost; END;
-- The currency of a reward of an order is that of the order, which may be corrected.
CREATE TRIGGER reward_moved AFTER UPDATE OF currency ON reward WHEN old.currency <> new.currency AND new.unit <> '%' BEGIN
  INSERT INTO reward_day SELECT new.tenant, g.at - g.at % 86400000, coalesce(new.program, ''),
    coalesce((SELECT f.share_medium FROM referral f WHERE f.tenant = new.tenant AND f.id = new.referral_id), ''), new.unit, c.value,
    CASE c.key WHEN 0 THEN -1 ELSE 1 END * (SELECT sum(l.amount) FROM reward_ledger l
      WHERE l.tenant = new.tenant AND l.reward_id = new.id AND l.action NOT IN ('redeem', 'expire', 'settle'))
  FROM reward_ledger g CROSS JOIN json_each(json_array(old.currency, new.currency)) c
  WHERE g.tenant = new.tenant AND g.reward_id = new.id AND g.action = 'grant'
  ON CONFLICT DO UPDATE SET cost = cost + excluded.cost; END;

-- The referrals of a period by referrer. Both have all that a list of top referrers reads.
DROP INDEX referral_converted;
CREATE INDEX referral_converted ON referral (tenant, converted_at, program, referrer_account_id, referrer_user_id) WHERE converted_at IS NOT NULL;
CREATE INDEX referral_joined ON referral (tenant, started_at, program, referrer_account_id, referrer_user_id);
