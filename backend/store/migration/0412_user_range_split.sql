-- A full range of users is split by stepping through the keys of its users, 4000 at a time.
-- The trigger of 0400 numbered all of them, which took 30 ms within a batch of an import.
DROP TRIGGER user_range_filled;
-- A full range becomes several of 4000 users, the last with the rest. A cut is the first
-- user of a part, and the number of users before it in the range.
CREATE TRIGGER user_range_filled AFTER UPDATE OF users ON user_range WHEN new.users > 8000 BEGIN
  INSERT INTO user_range WITH RECURSIVE cut (seq, place) AS (
      SELECT (SELECT seq FROM user WHERE tenant = new.tenant AND (account_id, id) >= (new.account_id, new.id) ORDER BY account_id, id LIMIT 1), 0
      UNION ALL SELECT (SELECT n.seq FROM user b JOIN user n ON n.tenant = b.tenant AND (n.account_id, n.id) >= (b.account_id, b.id)
        WHERE b.seq = cut.seq ORDER BY n.account_id, n.id LIMIT 1 OFFSET 4000), place + 4000 FROM cut WHERE place + 4000 < new.users)
    SELECT new.tenant, u.account_id, u.id, min(4000, new.users - cut.place) FROM cut CROSS JOIN user u ON u.seq = cut.seq WHERE cut.place > 0; UPDATE user_range
  SET users = 4000 WHERE tenant = new.tenant AND account_id = new.account_id AND id = new.id; END;
