-- The totals by day follow a referral that is given another program, share medium or start, and a
-- reward whose unit changes: before, both stayed under their old ones. All are summed again.

DROP TRIGGER referral_moved;
CREATE TRIGGER referral_moved AFTER UPDATE OF converted_at, program, share_medium ON referral
  WHEN (old.converted_at, old.program, old.share_medium) IS NOT (new.converted_at, new.program, new.share_medium) BEGIN
  UPDATE referral_day SET converted = converted - 1
  WHERE tenant = old.tenant AND day = old.converted_at - old.converted_at % 86400000 AND program = old.program AND share_medium = old.share_medium; INSERT INTO referral_day
  SELECT new.tenant, new.converted_at - new.converted_at % 86400000, new.program, new.share_medium, 0, 1 WHERE new.converted_at IS NOT NULL
  ON CONFLICT DO UPDATE SET converted = converted + 1; END;
-- A referral is moved by hand, which is rare, so it has a trigger of its own: conversions are not.
CREATE TRIGGER referral_replaced AFTER UPDATE OF started_at, program, share_medium ON referral
  WHEN (old.started_at, old.program, old.share_medium) <> (new.started_at, new.program, new.share_medium) BEGIN
  UPDATE referral_day SET joined = joined - 1
  WHERE tenant = old.tenant AND day = old.started_at - old.started_at % 86400000 AND program = old.program AND share_medium = old.share_medium; INSERT INTO referral_day
  VALUES (new.tenant, new.started_at - new.started_at % 86400000, new.program, new.share_medium, 1, 0)
  ON CONFLICT DO UPDATE SET joined = joined + 1; INSERT INTO reward_day
  SELECT new.tenant, g.at - g.at % 86400000, coalesce(w.program, ''), c.value, w.unit, w.currency, CASE c.key WHEN 0 THEN -1 ELSE 1 END * sum(l.amount)
  FROM reward w CROSS JOIN reward_ledger g ON g.tenant = w.tenant AND g.reward_id = w.id AND g.action = 'grant'
    CROSS JOIN reward_ledger l ON l.tenant = w.tenant AND l.reward_id = w.id AND l.action NOT IN ('redeem', 'expire', 'settle')
    CROSS JOIN json_each(json_array(old.share_medium, new.share_medium)) c
  WHERE w.tenant = new.tenant AND w.referral_id = new.id AND w.unit <> '%' GROUP BY w.id, c.key
  ON CONFLICT DO UPDATE SET cost = cost + excluded.cost; END;
-- The unit and the currency of a reward of an order are those of the order and of the program at
-- its time, which may be corrected.
DROP TRIGGER reward_moved;
CREATE TRIGGER reward_moved AFTER UPDATE OF unit, currency ON reward WHEN (old.unit, old.currency) <> (new.unit, new.currency) BEGIN
  INSERT INTO reward_day SELECT new.tenant, g.at - g.at % 86400000, coalesce(new.program, ''),
    coalesce((SELECT f.share_medium FROM referral f WHERE f.tenant = new.tenant AND f.id = new.referral_id), ''),
    CASE c.key WHEN 0 THEN old.unit ELSE new.unit END, c.value, CASE c.key WHEN 0 THEN -1 ELSE 1 END * (SELECT sum(l.amount) FROM reward_ledger l
      WHERE l.tenant = new.tenant AND l.reward_id = new.id AND l.action NOT IN ('redeem', 'expire', 'settle'))
  FROM reward_ledger g CROSS JOIN json_each(json_array(old.currency, new.currency)) c
  WHERE g.tenant = new.tenant AND g.reward_id = new.id AND g.action = 'grant' AND CASE c.key WHEN 0 THEN old.unit ELSE new.unit END <> '%'
  ON CONFLICT DO UPDATE SET cost = cost + excluded.cost; END;

DELETE FROM referral_day;
INSERT INTO referral_day SELECT tenant, day, program, share_medium, sum(joined), sum(converted) FROM (
  SELECT tenant, started_at - started_at % 86400000 AS day, program, share_medium, 1 AS joined, 0 AS converted FROM referral
  UNION ALL SELECT tenant, converted_at - converted_at % 86400000, program, share_medium, 0, 1 FROM referral WHERE converted_at IS NOT NULL) GROUP BY 1, 2, 3, 4;
DELETE FROM reward_day;
INSERT INTO reward_day SELECT w.tenant, g.at - g.at % 86400000, coalesce(w.program, ''), coalesce(f.share_medium, ''), w.unit, w.currency, sum(l.amount)
  FROM reward_ledger g CROSS JOIN reward w ON w.tenant = g.tenant AND w.id = g.reward_id
    CROSS JOIN reward_ledger l ON l.tenant = g.tenant AND l.reward_id = g.reward_id AND l.action NOT IN ('redeem', 'expire', 'settle')
    LEFT JOIN referral f ON f.tenant = w.tenant AND f.id = w.referral_id
  WHERE g.action = 'grant' AND w.unit <> '%' GROUP BY 1, 2, 3, 4, 5, 6;
