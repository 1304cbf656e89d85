-- Event calls with the API key that were refused because their idempotency key had been used
-- for other events. Written with the answer, for people to find what is missing; removed
-- after event.RefusedKept, and the oldest above event.MostRefused of a tenant.
CREATE TABLE refused_event (
  tenant          TEXT    NOT NULL REFERENCES tenant (alias),
  idempotency_key TEXT    NOT NULL,
  digest          TEXT    NOT NULL,        -- of the user and the events, without their times
  account_id      TEXT    NOT NULL,
  user_id         TEXT    NOT NULL,
  event           TEXT    NOT NULL,        -- the key of the first refused event
  recorded_event  TEXT    NOT NULL,        -- the key of the first event that was recorded
  events          TEXT    NOT NULL,        -- the beginning of the refused events: JSON, see wire.Refused
  times           INTEGER NOT NULL CHECK (times > 0),
  first_at        INTEGER NOT NULL,
  last_at         INTEGER NOT NULL,
  PRIMARY KEY (tenant, idempotency_key, digest)
) STRICT;
CREATE INDEX refused_event_last ON refused_event (tenant, last_at);
CREATE INDEX refused_event_user ON refused_event (tenant, account_id, user_id);
CREATE INDEX refused_event_at ON refused_event (last_at);
