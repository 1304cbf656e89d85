-- The referrals of a period by referrer, as before, now with the medium by which the link was
-- shared: a list of top referrers of one medium reads the index alone too.
DROP INDEX referral_converted;
DROP INDEX referral_joined;
CREATE INDEX referral_converted ON referral (tenant, converted_at, program, share_medium, referrer_account_id, referrer_user_id) WHERE converted_at IS NOT NULL;
CREATE INDEX referral_joined ON referral (tenant, started_at, program, share_medium, referrer_account_id, referrer_user_id);
