-- The master key that secrets are being sealed under anew, by its fingerprint; empty
-- when none is replaced. Processes need both keys meanwhile.
ALTER TABLE master_key ADD COLUMN next TEXT NOT NULL DEFAULT '';

-- What do_not_track has are hashes under the first master key, whose ids nobody knows:
-- they cannot be made anew. So that key is kept, sealed under the present one; empty
-- while it is the present one.
ALTER TABLE master_key ADD COLUMN identity TEXT NOT NULL DEFAULT ''
