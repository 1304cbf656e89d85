-- How the messages of a tenant's customer-data pipeline are read. Written by the API and
-- `kith pipeline`, read by each call of the pipeline. No row: the defaults, and no
-- signature is valid.
CREATE TABLE pipeline (
  tenant     TEXT NOT NULL PRIMARY KEY REFERENCES tenant (alias),
  settings   TEXT NOT NULL CHECK (json_type(settings) = 'object'),
  secret     TEXT,                         -- sealed under the master key; null: no signature is valid
  old_secret TEXT,                         -- the previous secret: it is valid too until old_until
  old_until  INTEGER,
  CHECK ((old_secret IS NULL) = (old_until IS NULL)),
  CHECK (secret IS NOT NULL OR old_secret IS NULL)
) STRICT, WITHOUT ROWID;
