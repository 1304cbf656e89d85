-- next_period is the first day of the billing cycle, as 2026-11-21, that was the next one
-- when the subscription was read: the one whose bill has the discount that was then set.
-- Empty if it is unknown. Written and read by the gateway worker.
ALTER TABLE gateway_subscription ADD COLUMN next_period TEXT NOT NULL DEFAULT '';
