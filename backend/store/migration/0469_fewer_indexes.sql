-- Fewer entries of indexes for each imported user: 3 for a referral, 2 for its two rewards.
-- Kith of before selects some indexes by name and runs on during an upgrade, so these keep
-- their names, and cannot be made before those that they replace are dropped.

-- The referrals of a tenant, the latest first. It has all that a list of top referrers of a
-- period reads (referral_joined), and the moderation of both sides: a list by it, and its
-- count, read the index alone, and mostly nearly all referrals are approved.
DROP INDEX referral_started;
CREATE INDEX referral_started ON referral (tenant, started_at, id, program, share_medium, referrer_account_id, referrer_user_id, referrer_moderation, referred_moderation);
DROP INDEX referral_joined;
-- The queues of moderators. A list by the moderation of one side reads them, too.
DROP INDEX referral_pending;
CREATE INDEX referral_pending ON referral (tenant, started_at, id, referrer_moderation, referred_moderation)
  WHERE referrer_moderation = 'PENDING' OR referred_moderation = 'PENDING';
DROP INDEX referral_denied;
CREATE INDEX referral_denied ON referral (tenant, started_at, id, referrer_moderation, referred_moderation)
  WHERE referrer_moderation = 'DENIED' OR referred_moderation = 'DENIED';
DROP INDEX referral_referrer_moderation;
DROP INDEX referral_referred_moderation;

-- The entries of a reward in their order. A reward is granted once: all grants have the
-- number 0.
CREATE UNIQUE INDEX reward_ledger_of ON reward_ledger (tenant, reward_id, CASE action WHEN 'grant' THEN 0 ELSE seq END);
DROP INDEX reward_ledger_reward;
DROP INDEX reward_ledger_grant;
