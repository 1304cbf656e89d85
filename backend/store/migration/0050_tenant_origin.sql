-- The origins whose pages may call the service from a browser, besides those of
-- the pages that programs land on.

CREATE TABLE tenant_origin (
  tenant     TEXT NOT NULL REFERENCES tenant (alias),
  origin     TEXT NOT NULL,                -- as browsers write it
  created_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, origin)
) STRICT, WITHOUT ROWID;
