-- The orders of two lists of a tenant, the latest first. Without an index, each page sorted
-- all rewards, or all decisions, of the tenant.
CREATE INDEX reward_created ON reward (tenant, created_at, id);
CREATE INDEX decision_latest ON decision (tenant, last_at);
