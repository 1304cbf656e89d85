-- When a key of a gateway becomes invalid; null: it does not. The former secret of a webhook
-- stays valid for a time, because the gateway may still send what it signed with it. Written
-- when a tenant connects a gateway, and replaced with all keys at the next time.
ALTER TABLE gateway_key ADD COLUMN expires_at INTEGER;
