-- Who may call what besides a holder of the API key. An endpoint without a row
-- has its default mode, which core knows.
CREATE TABLE secure_mode (
  tenant   TEXT NOT NULL REFERENCES tenant (alias),
  endpoint TEXT NOT NULL,
  mode     TEXT NOT NULL CHECK (mode IN ('signed', 'open', 'disabled')),
  PRIMARY KEY (tenant, endpoint)
) STRICT, WITHOUT ROWID;

-- Where share links begin, such as https://go.shop.example. Empty: where the
-- request came to.
ALTER TABLE tenant ADD COLUMN share_origin TEXT NOT NULL DEFAULT '';

-- Whether PAID counts when a browser says so and its token does not sign it.
ALTER TABLE tenant ADD COLUMN browser_payment TEXT NOT NULL DEFAULT 'any' CHECK (browser_payment IN ('any', 'signed'))
