-- Lists of referrals for people: each filter of the list has an index in the order of the
-- list, the latest first. The partial ones have few rows.
CREATE INDEX referral_state ON referral (tenant, state, started_at, id);
CREATE INDEX referral_program ON referral (tenant, program, started_at, id);
CREATE INDEX referral_code ON referral (tenant, code COLLATE NOCASE, started_at, id);
CREATE INDEX referral_pending ON referral (tenant, started_at, id) WHERE referrer_moderation = 'PENDING' OR referred_moderation = 'PENDING';
CREATE INDEX referral_denied ON referral (tenant, started_at, id) WHERE referrer_moderation = 'DENIED' OR referred_moderation = 'DENIED';
CREATE INDEX referral_ended ON referral (tenant, started_at, id) WHERE ended_at IS NOT NULL;

-- The history of one referral: what people decided about it, and the webhooks about it and
-- its rewards.
CREATE INDEX audit_entry_subject ON audit_entry (tenant, subject, seq);
CREATE INDEX webhook_event_subject ON webhook_event (tenant, data ->> '$.id');
