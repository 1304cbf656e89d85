-- What is to be told to a tenant's own systems: written in the transaction that
-- changes the state, and only for a tenant that listens.

CREATE TABLE webhook_subscription (
  tenant     TEXT NOT NULL REFERENCES tenant (alias),
  url        TEXT NOT NULL,
  name       TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, url)
) STRICT, WITHOUT ROWID;

CREATE TABLE webhook_event (
  seq        INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant     TEXT NOT NULL,
  id         TEXT NOT NULL,
  type       TEXT NOT NULL,
  data       TEXT NOT NULL CHECK (json_valid(data)),
  created_at INTEGER NOT NULL,
  UNIQUE (tenant, id)
) STRICT;
