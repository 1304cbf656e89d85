-- What users are found by, as one text of each, and an index of the words in it.
-- A row for each word, in a table and in its index, was half of what an import of
-- users wrote, since the words of a name lie all over a tree; the index keeps new
-- words in a few pages of their own and merges them in later.
CREATE TABLE user_search (
  seq        INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant     TEXT NOT NULL,
  account_id TEXT NOT NULL,
  user_id    TEXT NOT NULL,
  terms      TEXT NOT NULL,                -- TENANT/TERM of each, with U+001F between them
  UNIQUE (tenant, account_id, user_id),
  FOREIGN KEY (tenant, account_id, user_id) REFERENCES user (tenant, account_id, id) ON DELETE CASCADE
) STRICT;

-- All that is printed belongs to a word.
CREATE VIRTUAL TABLE user_index USING fts5(terms, content='user_search', content_rowid='seq', detail=none, columnsize=0,
  tokenize="ascii tokenchars ' !""#$%&''()*+,-./:;<=>?@[\]^_`{|}~'");

-- What is deleted goes out of the index at once, not when its pages are merged.
INSERT INTO user_index (user_index, rank) VALUES ('secure-delete', 1);

CREATE TRIGGER user_search_put AFTER INSERT ON user_search BEGIN INSERT INTO user_index (rowid, terms) VALUES (new.seq, new.terms); END;
CREATE TRIGGER user_search_gone AFTER DELETE ON user_search BEGIN INSERT INTO user_index (user_index, rowid, terms) VALUES ('delete', old.seq, old.terms); END;
CREATE TRIGGER user_search_changed AFTER UPDATE OF seq, terms ON user_search BEGIN INSERT INTO user_index (user_index, rowid, terms) VALUES ('delete', old.seq, old.terms); INSERT INTO user_index (rowid, terms) VALUES (new.seq, new.terms); END;

INSERT INTO user_search (tenant, account_id, user_id, terms)
  SELECT tenant, account_id, user_id, group_concat(tenant || '/' || term, char(31)) FROM user_term GROUP BY tenant, account_id, user_id;

DROP TABLE user_term
