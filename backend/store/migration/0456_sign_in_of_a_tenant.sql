-- The live tenants that the session was used in, each after a blank: the audit log of each
-- has the sign-in then, and those of the person's other tenants have not.
ALTER TABLE person_session ADD COLUMN entered TEXT NOT NULL DEFAULT '';
