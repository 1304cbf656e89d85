-- Aliases are unique regardless of case. A database may hold several that differ
-- in case only: the oldest keeps the name to itself, the others are namesakes and
-- stay. Nobody new takes a name that is taken, see Tx.InsertTenant.
ALTER TABLE tenant ADD COLUMN namesake INTEGER NOT NULL DEFAULT 0 CHECK (namesake IN (0, 1));
UPDATE tenant SET namesake = 1 WHERE EXISTS (SELECT 1 FROM tenant o WHERE lower(o.alias) = lower(tenant.alias)
  AND (o.created_at, o.alias) < (tenant.created_at, tenant.alias));
CREATE UNIQUE INDEX tenant_name ON tenant (lower(alias)) WHERE namesake = 0;

-- The index of words folds case: a capital letter of an alias is ^ and the small
-- one in it, as the store writes it. Words have no capital ASCII letters, so none
-- of them looks like the alias.
UPDATE user SET terms = replace(terms, tenant || '/', replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(tenant, 'A', '^a'), 'B', '^b'), 'C', '^c'), 'D', '^d'), 'E', '^e'), 'F', '^f'), 'G', '^g'), 'H', '^h'), 'I', '^i'), 'J', '^j'), 'K', '^k'), 'L', '^l'), 'M', '^m'), 'N', '^n'), 'O', '^o'), 'P', '^p'), 'Q', '^q'), 'R', '^r'), 'S', '^s'), 'T', '^t'), 'U', '^u'), 'V', '^v'), 'W', '^w'), 'X', '^x'), 'Y', '^y'), 'Z', '^z') || '/')
  WHERE terms <> '' AND tenant GLOB '*[A-Z]*';

-- A statement that changes what several users are found by leaves wrong words in
-- the index of an older SQLite, see 0100.
INSERT INTO user_index (user_index) SELECT 'rebuild' WHERE EXISTS (SELECT 1 FROM tenant WHERE alias GLOB '*[A-Z]*')
