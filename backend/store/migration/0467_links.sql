-- Parameters of landing pages. Existing programs keep what their statistics know, and existing
-- tenants the parameter of older browser scripts; new ones have the defaults.
ALTER TABLE program ADD COLUMN utm_source TEXT NOT NULL DEFAULT '';
ALTER TABLE program ADD COLUMN utm_campaign TEXT NOT NULL DEFAULT '';
UPDATE program SET utm_source = 'invite', utm_campaign = 'saasquatch';
ALTER TABLE tenant ADD COLUMN squatch_parameter TEXT NOT NULL DEFAULT 'auto' CHECK (squatch_parameter IN ('auto', 'on', 'off'));
UPDATE tenant SET squatch_parameter = 'on';

-- Visits by agents, such as assistants and curl.
ALTER TABLE visit ADD COLUMN agent_visits INTEGER NOT NULL DEFAULT 0 CHECK (agent_visits >= 0);
ALTER TABLE visit_day ADD COLUMN agent_visits INTEGER NOT NULL DEFAULT 0;
DROP TRIGGER visit_batch_added;
DROP TRIGGER visit_added;
DROP TRIGGER visit_counted;
DROP TRIGGER visit_removed;
-- A batch of an edge of an earlier version has no ninth value.
CREATE TRIGGER visit_batch_added AFTER INSERT ON visit_batch WHEN new.visits <> '[]' BEGIN
  INSERT INTO visit (tenant, day, program, code, engagement_medium, share_medium, visits, bot_visits, agent_visits)
  SELECT new.tenant, v.value ->> 1, v.value ->> 2, coalesce((SELECT c.code FROM code c WHERE c.tenant = new.tenant AND c.code = v.value ->> 3), ''),
    v.value ->> 4, v.value ->> 5, v.value ->> 6, v.value ->> 7, coalesce(v.value ->> 8, 0)
  FROM json_each(new.visits) v WHERE true
  ON CONFLICT DO UPDATE SET visits = visits + excluded.visits, bot_visits = bot_visits + excluded.bot_visits, agent_visits = agent_visits + excluded.agent_visits; UPDATE visit_batch SET visits = '[]'
  WHERE tenant = new.tenant AND id = new.id; END;
CREATE TRIGGER visit_added AFTER INSERT ON visit BEGIN
  INSERT INTO visit_day VALUES (new.tenant, new.day, new.program, new.engagement_medium, new.share_medium, new.visits, new.bot_visits, new.agent_visits)
  ON CONFLICT DO UPDATE SET visits = visits + excluded.visits, bot_visits = bot_visits + excluded.bot_visits, agent_visits = agent_visits + excluded.agent_visits; END;
CREATE TRIGGER visit_counted AFTER UPDATE OF visits, bot_visits, agent_visits ON visit BEGIN
  UPDATE visit_day SET visits = visits + new.visits - old.visits, bot_visits = bot_visits + new.bot_visits - old.bot_visits, agent_visits = agent_visits + new.agent_visits - old.agent_visits
  WHERE tenant = new.tenant AND day = new.day AND program = new.program AND engagement_medium = new.engagement_medium AND share_medium = new.share_medium; END;
CREATE TRIGGER visit_removed AFTER DELETE ON visit BEGIN
  UPDATE visit_day SET visits = visits - old.visits, bot_visits = bot_visits - old.bot_visits, agent_visits = agent_visits - old.agent_visits
  WHERE tenant = old.tenant AND day = old.day AND program = old.program AND engagement_medium = old.engagement_medium AND share_medium = old.share_medium; END;
