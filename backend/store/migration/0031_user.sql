-- Where a browser of the user was seen, as far as the user's own calls told,
-- or empty. Signs of fraud, and personal.
ALTER TABLE user ADD COLUMN first_seen_ip TEXT NOT NULL DEFAULT '';
ALTER TABLE user ADD COLUMN last_seen_ip TEXT NOT NULL DEFAULT '';

-- The id that was drawn for a user who came without one, empty for all others.
ALTER TABLE user ADD COLUMN cookie_id TEXT NOT NULL DEFAULT '';
ALTER TABLE user ADD COLUMN us_tax_form_at INTEGER;

-- Since when the user may refer nobody, null when not at all.
ALTER TABLE user ADD COLUMN blocked_at INTEGER
