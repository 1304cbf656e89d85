-- The public keys with which a tenant's files may be sent over SFTP. One key may
-- serve several tenants: who connects names the tenant.
CREATE TABLE sftp_key (
  tenant      TEXT NOT NULL REFERENCES tenant (alias),
  fingerprint TEXT NOT NULL,               -- as OpenSSH shows it: SHA256:...
  type        TEXT NOT NULL,
  note        TEXT NOT NULL,
  created_at  INTEGER NOT NULL,
  used_at     INTEGER,                     -- null until somebody came with it
  PRIMARY KEY (tenant, fingerprint)
) STRICT, WITHOUT ROWID;
