-- Answers of calls with the header Idempotency-Key. The same call gets the same answer for
-- 24 hours; see answerdb.
CREATE TABLE kept_answer (
  tenant     TEXT    NOT NULL REFERENCES tenant (alias),
  key        TEXT    NOT NULL,
  digest     TEXT    NOT NULL,             -- of method, path and body
  account_id TEXT    NOT NULL,             -- of the user in the answer, or ''
  user_id    TEXT    NOT NULL,
  answer     TEXT    NOT NULL,             -- JSON
  at         INTEGER NOT NULL,
  PRIMARY KEY (tenant, key)
) STRICT;
CREATE INDEX kept_answer_user ON kept_answer (tenant, account_id, user_id);
CREATE INDEX kept_answer_at ON kept_answer (at);
