-- The columns that a person chose for a header of import files, for the next file with it. The
-- newest jobdb.MostColumns of a tenant are kept.
CREATE TABLE import_columns (
  tenant  TEXT    NOT NULL REFERENCES tenant (alias),
  type    TEXT    NOT NULL,
  header  TEXT    NOT NULL CHECK (length(header) = 64), -- SHA-256 in hex
  columns TEXT    NOT NULL CHECK (json_type(columns) = 'object'),
  used_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, type, header)
) STRICT;
