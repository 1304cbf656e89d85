-- For how long edges keep where links of a tenant lead, and whether look-ups of codes name the
-- referrer; an edge keeps no answer that names a person.
ALTER TABLE tenant ADD COLUMN link_max_age INTEGER NOT NULL DEFAULT 60000 CHECK (link_max_age BETWEEN 0 AND 300000);
ALTER TABLE tenant ADD COLUMN code_names INTEGER NOT NULL DEFAULT 1 CHECK (code_names IN (0, 1));

-- The last edit of what edges keep of a tenant: where its links lead, and look-ups of its codes.
-- Written by the triggers below, read by each backend, which reports edits to edges. An edit
-- gets a new number.
CREATE TABLE edge_edit (
  seq    INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant TEXT NOT NULL UNIQUE REFERENCES tenant (alias)
) STRICT;
CREATE TRIGGER edge_tenant_changed AFTER UPDATE OF discount_id, consent, consent_cookie, squatch_parameter, link_max_age, code_names ON tenant BEGIN
  DELETE FROM edge_edit WHERE tenant = new.alias; INSERT INTO edge_edit (tenant) VALUES (new.alias); END;
CREATE TRIGGER edge_program_changed AFTER UPDATE ON program BEGIN
  DELETE FROM edge_edit WHERE tenant = new.tenant; INSERT INTO edge_edit (tenant) VALUES (new.tenant); END;
CREATE TRIGGER edge_user_blocked AFTER UPDATE OF blocked_at ON user WHEN new.blocked_at IS NOT NULL AND old.blocked_at IS NULL BEGIN
  DELETE FROM edge_edit WHERE tenant = new.tenant; INSERT INTO edge_edit (tenant) VALUES (new.tenant); END;
CREATE TRIGGER edge_key_changed AFTER UPDATE OF role, expires_at ON api_key BEGIN
  DELETE FROM edge_edit WHERE tenant = new.tenant; INSERT INTO edge_edit (tenant) VALUES (new.tenant); END;
-- Of an erased tenant, the row of tenant is deleted first.
CREATE TRIGGER edge_key_gone AFTER DELETE ON api_key WHEN EXISTS (SELECT 1 FROM tenant WHERE alias = old.tenant) BEGIN
  DELETE FROM edge_edit WHERE tenant = old.tenant; INSERT INTO edge_edit (tenant) VALUES (old.tenant); END;
CREATE TRIGGER edge_code_gone AFTER DELETE ON code WHEN EXISTS (SELECT 1 FROM tenant WHERE alias = old.tenant) BEGIN
  DELETE FROM edge_edit WHERE tenant = old.tenant; INSERT INTO edge_edit (tenant) VALUES (old.tenant); END;
