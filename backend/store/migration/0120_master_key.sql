-- The master key that the secrets of this database are sealed under, by its
-- fingerprint: a process with another key is refused before it writes. Empty until
-- a database is first opened for writing.
CREATE TABLE master_key (
  one         INTEGER PRIMARY KEY CHECK (one = 1),
  fingerprint TEXT NOT NULL
) STRICT;
INSERT INTO master_key (one, fingerprint) VALUES (1, '');
