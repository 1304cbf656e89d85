-- Which field of the event that placed an order cannot be read: 'revenue-unreadable' or
-- 'currency-unreadable', else ''. Such an order earns no share of its revenue; its detail
-- says what was sent.
ALTER TABLE referral_order ADD COLUMN fault TEXT NOT NULL DEFAULT '';
