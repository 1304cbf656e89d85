-- Calls that were refused because their user token had no exp, and the last one.
ALTER TABLE tenant ADD COLUMN undated_refused INTEGER NOT NULL DEFAULT 0 CHECK (undated_refused >= 0);
ALTER TABLE tenant ADD COLUMN undated_refused_at INTEGER;
