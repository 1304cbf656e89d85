-- The list of codes that people typed and no user owns.
CREATE INDEX decision_unknown ON decision (tenant, last_at) WHERE rule = 'unknown-code';
