-- 1 requires two-step sign-in of the members who have a password. It counts in the row of the
-- live tenant only.
ALTER TABLE tenant ADD COLUMN second_step INTEGER NOT NULL DEFAULT 0 CHECK (second_step IN (0, 1));
