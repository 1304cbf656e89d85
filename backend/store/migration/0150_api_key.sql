-- A tenant's API keys, by the secrets that they have: two while a key is rotated. The
-- key that each tenant has is "default".
CREATE TABLE api_key (
  tenant      TEXT NOT NULL REFERENCES tenant (alias),
  hash        TEXT NOT NULL CHECK (hash <> ''),  -- SHA-256 of the secret, in hex
  sealed      TEXT NOT NULL,               -- the secret under the master key when it signs, else ''
  name        TEXT NOT NULL CHECK (name <> '' AND name NOT GLOB '*[^-A-Za-z0-9_.]*'),
  role        TEXT NOT NULL CHECK (role IN ('all', 'read', 'events', 'import', 'tokens')),
  created_at  INTEGER NOT NULL,
  replaced_at INTEGER,                     -- when a rotation replaced the secret
  expires_at  INTEGER,                     -- from then on it is not valid
  used_at     INTEGER,
  PRIMARY KEY (tenant, hash),
  CHECK (replaced_at IS NULL OR expires_at IS NOT NULL)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX api_key_name ON api_key (tenant, name) WHERE replaced_at IS NULL;
INSERT INTO api_key (tenant, hash, sealed, name, role, created_at)
  SELECT alias, key_hash, key_sealed, 'default', 'all', created_at FROM tenant;

-- Nothing reads these two any more. A column that is UNIQUE cannot be dropped, so
-- the hash is the alias.
UPDATE tenant SET key_hash = alias, key_sealed = '';

-- Whether a user token counts that a key of the role all signed. It does unless the
-- tenant says otherwise: that is what existing clients sign with.
ALTER TABLE tenant ADD COLUMN api_key_tokens INTEGER NOT NULL DEFAULT 1 CHECK (api_key_tokens IN (0, 1))
