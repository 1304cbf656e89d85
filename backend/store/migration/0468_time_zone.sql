-- The time zone in which people read times, such as Europe/Berlin; empty is that of the browser.
ALTER TABLE tenant ADD COLUMN time_zone TEXT NOT NULL DEFAULT '' CHECK (length(time_zone) <= 64);
