-- How each tenant's payment gateway is reached, and what it has told.

CREATE TABLE gateway_connection (
  tenant      TEXT NOT NULL PRIMARY KEY REFERENCES tenant (alias),
  merchant_id TEXT NOT NULL CHECK (merchant_id <> ''),
  base_url    TEXT NOT NULL,               -- '' is the gateway's own host
  created_at  INTEGER NOT NULL,
  checked_at  INTEGER                      -- when the gateway last sent a check
) STRICT, WITHOUT ROWID;

CREATE TABLE gateway_key (
  tenant      TEXT NOT NULL REFERENCES gateway_connection (tenant) ON DELETE CASCADE,
  public_key  TEXT NOT NULL CHECK (public_key <> ''),
  private_key TEXT NOT NULL,               -- sealed, as all secrets here
  place       INTEGER NOT NULL CHECK (place >= 0),  -- 0 makes the calls
  PRIMARY KEY (tenant, public_key),
  UNIQUE (tenant, place)
) STRICT, WITHOUT ROWID;

CREATE TABLE gateway_notification (
  seq         INTEGER PRIMARY KEY AUTOINCREMENT,  -- the order of arrival
  tenant      TEXT NOT NULL REFERENCES tenant (alias),
  hash        TEXT NOT NULL CHECK (length(hash) = 64),  -- SHA-256 of the payload, in hex
  payload     TEXT NOT NULL,               -- as it came; '' once it is old
  kind        TEXT NOT NULL,               -- '' until it is read
  problem     TEXT NOT NULL,               -- why it could not be read, or ''
  received_at INTEGER NOT NULL,
  read_at     INTEGER,                     -- null while it waits
  UNIQUE (tenant, hash)
) STRICT;
CREATE INDEX gateway_notification_waiting ON gateway_notification (seq) WHERE read_at IS NULL;
