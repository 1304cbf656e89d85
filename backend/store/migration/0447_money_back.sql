-- For how long after a first payment a refund of all of it takes the rewards back, in a
-- program without an event that converts; 0: never.
ALTER TABLE program ADD COLUMN money_back INTEGER NOT NULL DEFAULT 0 CHECK (money_back >= 0);
-- Why the sides of a referral were denied without a moderator and without a fraud signal,
-- such as money-back; '' if they were not.
ALTER TABLE referral ADD COLUMN refused_for TEXT NOT NULL DEFAULT '';
