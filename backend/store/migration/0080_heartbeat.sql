-- The age of this row, read from a replica, is how far the replica is behind.
CREATE TABLE heartbeat (
  one     INTEGER PRIMARY KEY CHECK (one = 1),
  beat_at INTEGER NOT NULL
) STRICT;
INSERT INTO heartbeat (one, beat_at) VALUES (1, 0);
