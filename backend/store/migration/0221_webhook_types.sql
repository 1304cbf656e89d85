-- The types of the events that an endpoint gets, as a JSON array; an empty one is all
-- types.
ALTER TABLE webhook_subscription ADD COLUMN types TEXT NOT NULL DEFAULT '[]' CHECK (json_type(types) = 'array');
