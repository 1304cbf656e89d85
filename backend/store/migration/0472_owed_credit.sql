-- The credit that bills of the subscription had, and that was not available when they were paid: it
-- is redeemed before another bill gets credit.
ALTER TABLE gateway_subscription ADD COLUMN owed INTEGER NOT NULL DEFAULT 0 CHECK (owed >= 0);
