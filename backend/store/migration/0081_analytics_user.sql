-- By what a deletion finds the counts of a user and of the user's codes.
CREATE INDEX analytics_user ON analytics (tenant, account_id, user_id);
CREATE INDEX analytics_code ON analytics (tenant, code)
