-- Webhooks arrive in any order. The sequence of an event lets a receiver order them.
--
-- The number of the latest event of a tenant. Written by the trigger below, in the
-- transaction of the event. Lives as long as the tenant.
CREATE TABLE webhook_counter (
  tenant TEXT PRIMARY KEY,
  latest INTEGER NOT NULL CHECK (latest > 0)
) STRICT, WITHOUT ROWID;

-- sequence is 1 more than that of the tenant's event before. It is 0 only until the
-- trigger has run; a restored event keeps its number.
ALTER TABLE webhook_event ADD COLUMN sequence INTEGER NOT NULL DEFAULT 0 CHECK (sequence >= 0);

UPDATE webhook_event SET sequence = n.number
  FROM (SELECT seq, row_number() OVER (PARTITION BY tenant ORDER BY seq) AS number FROM webhook_event) n
  WHERE n.seq = webhook_event.seq;
INSERT INTO webhook_counter (tenant, latest)
  SELECT tenant, max(sequence) FROM webhook_event GROUP BY tenant;

CREATE TRIGGER webhook_event_numbered AFTER INSERT ON webhook_event WHEN new.sequence = 0 BEGIN
  INSERT INTO webhook_counter (tenant, latest) VALUES (new.tenant, 1) ON CONFLICT (tenant) DO UPDATE SET latest = latest + 1; UPDATE webhook_event
  SET sequence = (SELECT latest FROM webhook_counter WHERE tenant = new.tenant) WHERE seq = new.seq; END;
