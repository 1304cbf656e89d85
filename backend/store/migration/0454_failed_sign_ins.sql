-- Wrong passwords and codes for an address since its person last signed in, whether there is
-- such a person or not. Written by each wrong one, removed by the sign-in, which shows them to
-- the person, and by the forget worker after 30 days.
CREATE TABLE failed_sign_in (
  address   TEXT    NOT NULL PRIMARY KEY,  -- SHA-256 of the address, in hex
  times     INTEGER NOT NULL CHECK (times > 0),
  last_at   INTEGER NOT NULL,
  last_from TEXT    NOT NULL               -- the IP address, '' if unknown
) STRICT, WITHOUT ROWID;
CREATE INDEX failed_sign_in_last ON failed_sign_in (last_at);

-- How many of them there were before the session, when was the last, and from where.
ALTER TABLE person_session ADD COLUMN failed INTEGER NOT NULL DEFAULT 0 CHECK (failed >= 0);
ALTER TABLE person_session ADD COLUMN failed_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE person_session ADD COLUMN failed_from TEXT NOT NULL DEFAULT '';
