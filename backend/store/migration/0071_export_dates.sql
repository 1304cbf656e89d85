-- How the dates of exports are written: epoch milliseconds, as clients have
-- always read them, or ISO 8601.
ALTER TABLE tenant ADD COLUMN export_dates TEXT NOT NULL DEFAULT 'MS' CHECK (export_dates IN ('MS', 'ISO'))
