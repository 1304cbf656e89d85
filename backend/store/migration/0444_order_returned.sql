-- 1 if refunds took back the whole order: it does not count for the number of orders that
-- earn, nor for the limits of the referrer. referrer_gives is then 0.
ALTER TABLE referral_order ADD COLUMN returned INTEGER NOT NULL DEFAULT 0;
