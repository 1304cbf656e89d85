-- A mail address is a person's once an identity provider has proved it. Until then, each
-- tenant that invited the address has an account of its own for it.
-- SQLite cannot drop UNIQUE or a CHECK, so the table is copied.

-- A person who works in the portal. A person with a proven address may be a member of
-- several tenants; so may another one, by opening the link of an invitation while signed
-- in. Written by `kith person`, an invitation, an identity provider and the profile page,
-- read by each sign-in. Removed with the last membership.
CREATE TABLE person_new (
  id           TEXT NOT NULL PRIMARY KEY,
  email        TEXT NOT NULL CHECK (email = lower(email)),
  name         TEXT NOT NULL,
  password     TEXT NOT NULL CHECK (password = '' OR password GLOB '$argon2id$*'),  -- its argon2id hash, with salt and parameters; '': the person has none
  password_at  INTEGER NOT NULL,           -- when it was set, or removed
  totp         TEXT NOT NULL DEFAULT '',   -- the secret of the authenticator app under the master key, else ''
  totp_on      INTEGER NOT NULL DEFAULT 0 CHECK (totp_on IN (0, 1)),  -- 0 until a first code has confirmed the secret
  totp_step    INTEGER NOT NULL DEFAULT 0, -- the step of the last code: earlier ones are used up
  created_at   INTEGER NOT NULL,
  signed_in_at INTEGER,                    -- null until the first sign-in
  proven_at    INTEGER CHECK (proven_at IS NOT NULL OR password <> ''),  -- when an identity provider first proved the address; null: not proven
  CHECK (totp_on = 0 OR totp <> '')
) STRICT, WITHOUT ROWID;

-- A person who signed in by an identity provider has proved the address. A password that
-- was set before may be that of a stranger who opened an invitation first.
INSERT INTO person_new (id, email, name, password, password_at, totp, totp_on, totp_step, created_at, signed_in_at, proven_at)
  SELECT p.id, p.email, p.name, CASE WHEN p.password_at <= i.at THEN '' ELSE p.password END, p.password_at,
    p.totp, p.totp_on, p.totp_step, p.created_at, p.signed_in_at, i.at
  FROM person p LEFT JOIN (SELECT person, min(created_at) AS at FROM person_identity GROUP BY person) i ON i.person = p.id;
DELETE FROM person_session WHERE person IN (SELECT id FROM person_new WHERE password = '');
DROP TABLE person;
ALTER TABLE person_new RENAME TO person;
CREATE INDEX person_email ON person (email);

-- Who invited the person, as the audit log names them; '' if that is not known. It vouches
-- for an address that is not proven.
ALTER TABLE membership ADD COLUMN invited_by TEXT NOT NULL DEFAULT '';
UPDATE membership SET invited_by = coalesce((SELECT e.became ->> 'invitedBy' FROM audit_entry e
  WHERE e.tenant = membership.tenant AND e.action = 'member.joined' AND e.person = membership.person AND e.became <> '' ORDER BY e.seq DESC LIMIT 1), '');
-- Who invited the actor, if the actor's address was not proven at that time, else ''.
ALTER TABLE audit_entry ADD COLUMN invited_by TEXT NOT NULL DEFAULT '';
