-- Which API key an edge took an event call in for, by auth.APIKey.ID: its use is noted
-- when the call is processed. Null for calls that came otherwise; a backend notes those
-- itself.
ALTER TABLE intake ADD COLUMN key_id TEXT
