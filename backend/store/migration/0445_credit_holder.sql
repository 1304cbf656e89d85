-- Credit goes to the next bill that can use it, whichever subscription of the account that
-- is. room is the most that the next bill can use, and held what the gateway has for its
-- bills: the latter is not given to another subscription. next_period says which is next.
ALTER TABLE gateway_subscription ADD COLUMN currency TEXT NOT NULL DEFAULT '';
ALTER TABLE gateway_subscription ADD COLUMN room INTEGER NOT NULL DEFAULT 0 CHECK (room >= 0);
ALTER TABLE gateway_subscription ADD COLUMN held INTEGER NOT NULL DEFAULT 0 CHECK (held >= 0);
UPDATE gateway_subscription SET held = folded;
