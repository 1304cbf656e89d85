-- Who is to be told, what is on its way to whom, and how each attempt went.

-- Until now nothing could make a subscription, so there is none to keep.
DROP TABLE webhook_subscription;

CREATE TABLE webhook_subscription (
  tenant        TEXT NOT NULL REFERENCES tenant (alias),
  url           TEXT NOT NULL,
  name          TEXT NOT NULL,
  secret        TEXT NOT NULL,             -- sealed, as all secrets here
  old_secret    TEXT,                      -- the one before: it signs along until old_until
  old_until     INTEGER,
  failing_since INTEGER,                   -- null while the endpoint is well
  disabled_at   INTEGER,                   -- null while it gets events
  created_at    INTEGER NOT NULL,
  PRIMARY KEY (tenant, url),
  CHECK ((old_secret IS NULL) = (old_until IS NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX webhook_event_created ON webhook_event (created_at);

CREATE TABLE webhook_delivery (
  tenant     TEXT NOT NULL,
  url        TEXT NOT NULL,
  event_id   TEXT NOT NULL,
  state      TEXT NOT NULL CHECK (state IN ('waiting', 'sending', 'delivered', 'failed')),
  attempt    INTEGER NOT NULL CHECK (attempt >= 0),  -- the number of the last one begun; it never falls, so it fences
  tries      INTEGER NOT NULL CHECK (tries BETWEEN 0 AND attempt),  -- attempts since it began, or was replayed
  due_at     INTEGER,                      -- the next attempt, or the end of the lease
  created_at INTEGER NOT NULL,
  ended_at   INTEGER,
  PRIMARY KEY (tenant, url, event_id),
  CHECK ((state IN ('waiting', 'sending')) = (due_at IS NOT NULL)),
  CHECK ((due_at IS NULL) = (ended_at IS NOT NULL)),
  FOREIGN KEY (tenant, url) REFERENCES webhook_subscription (tenant, url) ON DELETE CASCADE,
  FOREIGN KEY (tenant, event_id) REFERENCES webhook_event (tenant, id)
) STRICT;
CREATE INDEX webhook_delivery_line ON webhook_delivery (tenant, url, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX webhook_delivery_due ON webhook_delivery (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX webhook_delivery_ended ON webhook_delivery (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX webhook_delivery_event ON webhook_delivery (tenant, event_id);

CREATE TABLE webhook_attempt (
  tenant     TEXT NOT NULL,
  url        TEXT NOT NULL,
  event_id   TEXT NOT NULL,
  number     INTEGER NOT NULL CHECK (number > 0),
  started_at INTEGER NOT NULL,
  duration   INTEGER NOT NULL CHECK (duration >= 0),  -- milliseconds
  status     INTEGER NOT NULL CHECK (status BETWEEN 0 AND 999),
  error      TEXT NOT NULL,
  answer     TEXT NOT NULL,
  PRIMARY KEY (tenant, url, event_id, number),
  CHECK ((status = 0) = (error <> '')),    -- there was an answer, or a reason why not
  FOREIGN KEY (tenant, url, event_id) REFERENCES webhook_delivery (tenant, url, event_id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- The service's own keys: the one that is not retired signs for all tenants.
CREATE TABLE webhook_key (
  id         TEXT NOT NULL PRIMARY KEY,
  modulus    TEXT NOT NULL,                -- the public half, in base64url
  sealed     TEXT NOT NULL,                -- the private half, PKCS #8
  created_at INTEGER NOT NULL,
  retired_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX webhook_key_current ON webhook_key (retired_at IS NULL) WHERE retired_at IS NULL;

-- Addresses that are not public, which a test tenant's events may be sent to.
CREATE TABLE webhook_allowed (
  tenant TEXT NOT NULL REFERENCES tenant (alias),
  prefix TEXT NOT NULL,
  PRIMARY KEY (tenant, prefix)
) STRICT, WITHOUT ROWID;
