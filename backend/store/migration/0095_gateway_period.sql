-- The first day of the latest cycle whose bill was seen, such as 2026-11-21, and
-- empty before any: the first bill of a cycle uses credit, and no other.
ALTER TABLE gateway_subscription ADD COLUMN period TEXT NOT NULL DEFAULT '';

-- When it was made at the gateway; 0 until it is read. Credit goes to the oldest.
ALTER TABLE gateway_subscription ADD COLUMN opened_at INTEGER NOT NULL DEFAULT 0 CHECK (opened_at >= 0)
