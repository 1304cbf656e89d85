-- The number of users of a tenant in each range of their order by account and id. A list
-- of users is counted, and finds the users behind any offset, by reading the ranges of the
-- tenant and the keys of one range.

-- A range has the users from its key to that of the next range, about 4000 to 8000. The
-- first one of a tenant begins with empty texts. Written with new users
-- (userdb.IndexNew) and by triggers, read by lists of users. Removed when it has no users
-- left. It is derived: backups leave it out, and a restore writes it again. The account
-- and the id of a user never change.
CREATE TABLE user_range (
  tenant     TEXT NOT NULL,
  account_id TEXT NOT NULL,
  id         TEXT NOT NULL,
  users      INTEGER NOT NULL,
  PRIMARY KEY (tenant, account_id, id)
) STRICT, WITHOUT ROWID;
INSERT INTO user_range SELECT p.tenant, iif(p.place = 1, '', p.account_id), iif(p.place = 1, '', p.id), min(4000, t.users - p.place + 1)
  FROM (SELECT tenant, account_id, id, row_number() OVER (PARTITION BY tenant ORDER BY account_id, id) AS place FROM user) p
    JOIN (SELECT tenant, count(*) AS users FROM user GROUP BY tenant) t ON t.tenant = p.tenant
  WHERE p.place % 4000 = 1;
CREATE TRIGGER user_uncounted AFTER DELETE ON user BEGIN
  UPDATE user_range SET users = users - 1 WHERE tenant = old.tenant AND (account_id, id) = (SELECT account_id, id FROM user_range
    WHERE tenant = old.tenant AND (account_id, id) <= (old.account_id, old.id) ORDER BY account_id DESC, id DESC LIMIT 1); UPDATE user_range
  -- The ids of an erased user leave the ranges: the range begins with its next user.
  SET (account_id, id) = (SELECT account_id, id FROM user WHERE tenant = old.tenant AND (account_id, id) > (old.account_id, old.id) ORDER BY account_id, id LIMIT 1)
  WHERE tenant = old.tenant AND account_id = old.account_id AND id = old.id; END;
CREATE TRIGGER user_range_emptied AFTER UPDATE OF users ON user_range WHEN new.users = 0 BEGIN
  DELETE FROM user_range WHERE tenant = new.tenant AND account_id = new.account_id AND id = new.id; END;
-- A full range becomes several of 4000 users, the last with the rest.
CREATE TRIGGER user_range_filled AFTER UPDATE OF users ON user_range WHEN new.users > 8000 BEGIN
  INSERT INTO user_range SELECT tenant, account_id, id, min(4000, new.users - place) FROM (
    SELECT tenant, account_id, id, row_number() OVER (ORDER BY account_id, id) - 1 AS place FROM (SELECT tenant, account_id, id FROM user
      WHERE tenant = new.tenant AND (account_id, id) >= (new.account_id, new.id) ORDER BY account_id, id LIMIT new.users))
  WHERE place > 0 AND place % 4000 = 0; UPDATE user_range SET users = 4000
  WHERE tenant = new.tenant AND account_id = new.account_id AND id = new.id; END;
