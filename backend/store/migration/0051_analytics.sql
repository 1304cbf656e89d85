-- How often things happened that nothing depends on, by day: a row grows with
-- the days, not with the calls.

CREATE TABLE analytics (
  tenant            TEXT NOT NULL REFERENCES tenant (alias),
  day               INTEGER NOT NULL,      -- its beginning, UTC
  kind              TEXT NOT NULL CHECK (kind IN ('visited', 'loaded', 'shared')),
  account_id        TEXT NOT NULL,         -- empty for a visit
  user_id           TEXT NOT NULL,
  program           TEXT NOT NULL,         -- empty when not told
  code              TEXT NOT NULL,         -- empty for a widget
  engagement_medium TEXT NOT NULL,
  share_medium      TEXT NOT NULL,
  times             INTEGER NOT NULL CHECK (times > 0),
  PRIMARY KEY (tenant, day, kind, account_id, user_id, program, code, engagement_medium, share_medium)
) STRICT, WITHOUT ROWID;
