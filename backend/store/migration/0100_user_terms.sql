-- Users have numbers, and what they are found by: a table of it beside theirs, with
-- an index and a foreign key of its own, was a sixth of what an import of users
-- wrote. The codes are made anew only to refer to the new table.
CREATE TABLE user_next (
  seq            INTEGER PRIMARY KEY,      -- greater than those of all who were there before
  tenant         TEXT NOT NULL,
  account_id     TEXT NOT NULL,
  id             TEXT NOT NULL,
  first_name     TEXT NOT NULL,
  last_name      TEXT NOT NULL,
  email          TEXT NOT NULL,
  image_url      TEXT NOT NULL,
  locale         TEXT NOT NULL,
  country_code   TEXT NOT NULL,
  referable      INTEGER NOT NULL CHECK (referable IN (0, 1)),
  custom_fields  TEXT NOT NULL CHECK (json_type(custom_fields) = 'object'),
  segments       TEXT NOT NULL CHECK (json_type(segments) = 'array'),
  created_at     INTEGER NOT NULL,
  updated_at     INTEGER NOT NULL,
  first_seen_ip  TEXT NOT NULL DEFAULT '',
  last_seen_ip   TEXT NOT NULL DEFAULT '',
  cookie_id      TEXT NOT NULL DEFAULT '',
  us_tax_form_at INTEGER,
  blocked_at     INTEGER,
  terms          TEXT NOT NULL DEFAULT '', -- TENANT/TERM of each, with U+001F between them
  UNIQUE (tenant, account_id, id),
  FOREIGN KEY (tenant, account_id) REFERENCES account (tenant, id)
) STRICT;

INSERT INTO user_next (tenant, account_id, id, first_name, last_name, email, image_url, locale, country_code, referable,
    custom_fields, segments, created_at, updated_at, first_seen_ip, last_seen_ip, cookie_id, us_tax_form_at, blocked_at, terms)
  SELECT u.tenant, u.account_id, u.id, u.first_name, u.last_name, u.email, u.image_url, u.locale, u.country_code, u.referable,
    u.custom_fields, u.segments, u.created_at, u.updated_at, u.first_seen_ip, u.last_seen_ip, u.cookie_id, u.us_tax_form_at, u.blocked_at, coalesce(s.terms, '')
  FROM user u LEFT JOIN user_search s ON s.tenant = u.tenant AND s.account_id = u.account_id AND s.user_id = u.id
  ORDER BY u.tenant, u.account_id, u.id;

CREATE TABLE code_next (
  tenant     TEXT NOT NULL,
  code       TEXT NOT NULL COLLATE NOCASE,
  program    TEXT NOT NULL,
  account_id TEXT NOT NULL,
  user_id    TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, code),
  FOREIGN KEY (tenant, program) REFERENCES program (tenant, key),
  FOREIGN KEY (tenant, account_id, user_id) REFERENCES user_next (tenant, account_id, id)
) STRICT;

INSERT INTO code_next (rowid, tenant, code, program, account_id, user_id, created_at)
  SELECT rowid, tenant, code, program, account_id, user_id, created_at FROM code ORDER BY rowid;

DROP TABLE user_index;
DROP TABLE user_search;
DROP TABLE code;
DROP TABLE user;
ALTER TABLE user_next RENAME TO user;
ALTER TABLE code_next RENAME TO code;
CREATE INDEX code_owner ON code (tenant, account_id, user_id);

-- All that is printed belongs to a word. With detail=none, which takes less, and
-- secure-delete, a statement that changes what several users are found by left wrong
-- words behind: a defect of SQLite 3.53, and of the one in the server.
CREATE VIRTUAL TABLE user_index USING fts5(terms, content='user', content_rowid='seq', detail=column, columnsize=0,
  tokenize="ascii tokenchars ' !""#$%&''()*+,-./:;<=>?@[\]^_`{|}~'");

-- What is deleted goes out of the index at once, not when its pages are merged.
INSERT INTO user_index (user_index, rank) VALUES ('secure-delete', 1);

INSERT INTO user_index (rowid, terms) SELECT seq, terms FROM user WHERE terms <> '';

-- Who is new comes into the index by a statement for many, see Tx.indexNew: a trigger
-- would make it write down a few words with each statement.
CREATE TRIGGER user_gone AFTER DELETE ON user WHEN old.terms <> '' BEGIN INSERT INTO user_index (user_index, rowid, terms) VALUES ('delete', old.seq, old.terms); END;
CREATE TRIGGER user_found AFTER UPDATE OF terms ON user WHEN new.terms <> old.terms BEGIN INSERT INTO user_index (user_index, rowid, terms) SELECT 'delete', old.seq, old.terms WHERE old.terms <> ''; INSERT INTO user_index (rowid, terms) SELECT new.seq, new.terms WHERE new.terms <> ''; END
