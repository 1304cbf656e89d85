-- What becomes of the rewards of a blocked user; null if that was not chosen.
ALTER TABLE user ADD COLUMN blocked_rewards TEXT CHECK (blocked_rewards IN ('KEEP', 'HOLD', 'CANCEL'));
-- 1 while rewards of the user do not follow a block, or its end, yet: the reward worker continues.
ALTER TABLE user ADD COLUMN block_due INTEGER NOT NULL DEFAULT 0 CHECK (block_due IN (0, 1));
CREATE INDEX user_blocked_rewards ON user (tenant) WHERE blocked_rewards <> 'KEEP';
CREATE INDEX user_block_due ON user (block_due) WHERE block_due = 1;
-- Since when a reward is held, or was cancelled, because its owner is blocked; null: neither.
ALTER TABLE reward ADD COLUMN blocked_since INTEGER CHECK (blocked_since IS NULL OR pending = 1 OR cancelled_at IS NOT NULL);
DROP INDEX reward_to_give;
CREATE INDEX reward_to_give ON reward (given_at) WHERE pending = 1 AND held = 0 AND blocked_since IS NULL AND value > redeemed + expired + cancelled + reversed + settled;
