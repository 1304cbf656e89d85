-- What a tenant wants of its widgets; a widget without a row is the default.

CREATE TABLE widget (
  tenant        TEXT NOT NULL REFERENCES tenant (alias),
  program       TEXT NOT NULL,               -- empty for a widget of the tenant
  key           TEXT NOT NULL,
  template      TEXT NOT NULL,               -- a whole HTML document, empty for the default
  options       TEXT NOT NULL CHECK (options = '' OR json_type(options) = 'object'),
  branding      TEXT NOT NULL CHECK (branding = '' OR json_type(branding) = 'object'),
  widget_values TEXT NOT NULL CHECK (widget_values = '' OR json_type(widget_values) = 'object'),
  modified_at   INTEGER NOT NULL,
  PRIMARY KEY (tenant, program, key)
) STRICT, WITHOUT ROWID;
