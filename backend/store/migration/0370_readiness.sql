-- What a readiness check writes, to see whether the database accepts writes: one row.
CREATE TABLE readiness (
  one        INTEGER PRIMARY KEY CHECK (one = 1),
  checked_at INTEGER NOT NULL
) STRICT;
INSERT INTO readiness (one, checked_at) VALUES (1, 0);

-- The version of kith that applied a migration, '' for those before this one. An older
-- kith refuses the database, and names this version.
ALTER TABLE schema_version ADD COLUMN kith TEXT NOT NULL DEFAULT '';
