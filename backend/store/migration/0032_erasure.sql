-- What users are found by: words of their ids, names and addresses, in lower
-- case. A search is a range of terms.
CREATE TABLE user_term (
  tenant     TEXT NOT NULL,
  term       TEXT NOT NULL,
  account_id TEXT NOT NULL,
  user_id    TEXT NOT NULL,
  PRIMARY KEY (tenant, term, account_id, user_id),
  FOREIGN KEY (tenant, account_id, user_id) REFERENCES user (tenant, account_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX user_term_owner ON user_term (tenant, account_id, user_id);

-- Users who were deleted and must not come back: a keyed hash of their ids, from
-- which nobody can tell them.
CREATE TABLE do_not_track (
  tenant     TEXT NOT NULL REFERENCES tenant (alias),
  identity   TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, identity)
) STRICT, WITHOUT ROWID;

-- By what a deletion finds the user in records that have no key of the user's.
CREATE INDEX intake_user ON intake (tenant, account_id, user_id);
CREATE INDEX decision_code ON decision (tenant, code)
;

-- Users of before are found by whole words until they are identified again.
INSERT OR IGNORE INTO user_term (tenant, term, account_id, user_id)
  SELECT tenant, lower(id), account_id, id FROM user
  UNION SELECT tenant, lower(account_id), account_id, id FROM user
  UNION SELECT tenant, lower(email), account_id, id FROM user WHERE email <> ''
  UNION SELECT tenant, lower(first_name), account_id, id FROM user WHERE first_name <> ''
  UNION SELECT tenant, lower(last_name), account_id, id FROM user WHERE last_name <> ''
