-- What a browser's word counts for is safe unless the tenant says otherwise, also for
-- tenants that are here already: 'any' was what they had without choosing it.
ALTER TABLE tenant ADD COLUMN init_checksum INTEGER NOT NULL DEFAULT 0 CHECK (init_checksum IN (0, 1));
ALTER TABLE tenant ADD COLUMN undated_tokens INTEGER NOT NULL DEFAULT 0 CHECK (undated_tokens IN (0, 1));
UPDATE tenant SET browser_payment = 'signed'
