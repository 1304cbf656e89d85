-- People who work in the portal: their passwords, sessions and roles, and the audit log.

-- A person, who may be a member of several tenants. Written by `kith person`, an
-- invitation and the profile page, read by each sign-in. Removed with the last
-- membership.
CREATE TABLE person (
  id           TEXT NOT NULL PRIMARY KEY,
  email        TEXT NOT NULL UNIQUE CHECK (email = lower(email)),
  name         TEXT NOT NULL,
  password     TEXT NOT NULL CHECK (password GLOB '$argon2id$*'),  -- its argon2id hash, with salt and parameters
  password_at  INTEGER NOT NULL,           -- when it was set
  totp         TEXT NOT NULL DEFAULT '',   -- the secret of the authenticator app under the master key, else ''
  totp_on      INTEGER NOT NULL DEFAULT 0 CHECK (totp_on IN (0, 1)),  -- 0 until a first code has confirmed the secret
  totp_step    INTEGER NOT NULL DEFAULT 0, -- the step of the last code: earlier ones are used up
  created_at   INTEGER NOT NULL,
  signed_in_at INTEGER,                    -- null until the first sign-in
  CHECK (totp_on = 0 OR totp <> '')
) STRICT, WITHOUT ROWID;

-- An unused code that replaces a one-time code. Written when a person turns two-step
-- sign-in on, removed when it is used.
CREATE TABLE person_recovery (
  person TEXT NOT NULL REFERENCES person (id) ON DELETE CASCADE,
  hash   TEXT NOT NULL,                    -- SHA-256 of the code, in hex
  PRIMARY KEY (person, hash)
) STRICT, WITHOUT ROWID;

-- A sign-in of a person in one browser. Removed when it ends, and by the forget worker
-- when it has expired.
CREATE TABLE person_session (
  hash         TEXT NOT NULL PRIMARY KEY,  -- SHA-256 of the token in the cookie, in hex
  id           TEXT NOT NULL UNIQUE,
  person       TEXT NOT NULL REFERENCES person (id) ON DELETE CASCADE,
  stage        TEXT NOT NULL CHECK (stage IN ('code', 'in')),  -- code: the one-time code is missing
  created_at   INTEGER NOT NULL,
  seen_at      INTEGER NOT NULL,
  confirmed_at INTEGER NOT NULL,           -- when the password was last given
  ip           TEXT NOT NULL,
  agent        TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX person_session_person ON person_session (person, created_at);
CREATE INDEX person_session_created ON person_session (created_at);

-- A link with which a person chooses a new password. Removed when it is used or replaced.
CREATE TABLE person_reset (
  person     TEXT NOT NULL PRIMARY KEY REFERENCES person (id) ON DELETE CASCADE,
  hash       TEXT NOT NULL UNIQUE,         -- SHA-256 of the token in the link, in hex
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The role of a person in a live tenant and its test tenant. Written when an invitation
-- is accepted and by `kith person`. A tenant may be restored where the person does not
-- exist: such a row permits nothing.
CREATE TABLE membership (
  tenant     TEXT NOT NULL REFERENCES tenant (alias),
  person     TEXT NOT NULL,
  role       TEXT NOT NULL CHECK (role IN ('owner', 'manager', 'support', 'viewer')),
  created_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, person)
) STRICT, WITHOUT ROWID;
CREATE INDEX membership_person ON membership (person, tenant);

-- A link with which a person joins a tenant. Removed when it is accepted or revoked, and
-- by the forget worker when it has expired.
CREATE TABLE invitation (
  tenant     TEXT NOT NULL REFERENCES tenant (alias),
  id         TEXT NOT NULL,
  hash       TEXT NOT NULL,                -- SHA-256 of the token in the link, in hex
  email      TEXT NOT NULL CHECK (email = lower(email)),
  role       TEXT NOT NULL CHECK (role IN ('owner', 'manager', 'support', 'viewer')),
  invited_by TEXT NOT NULL,                -- who made it, as the audit log names them
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, id),
  UNIQUE (tenant, email)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX invitation_hash ON invitation (hash);
CREATE INDEX invitation_expires ON invitation (expires_at);

-- What people changed in a tenant: rows are added and never changed, except that the
-- erasure of a user clears what names the user. Removed when it is too old.
CREATE TABLE audit_entry (
  seq        INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant     TEXT NOT NULL REFERENCES tenant (alias),
  at         INTEGER NOT NULL,
  person     TEXT NOT NULL,                -- '' for the command line
  actor      TEXT NOT NULL,                -- the address of the person at that time
  ip         TEXT NOT NULL,
  action     TEXT NOT NULL,
  subject    TEXT NOT NULL,
  was        TEXT NOT NULL CHECK (was = '' OR json_type(was) = 'object'),  -- before the change, else ''
  became     TEXT NOT NULL CHECK (became = '' OR json_type(became) = 'object'),
  account_id TEXT NOT NULL,                -- the user that the entry is about, else ''
  user_id    TEXT NOT NULL
) STRICT;
CREATE INDEX audit_entry_tenant ON audit_entry (tenant, seq);
CREATE INDEX audit_entry_action ON audit_entry (tenant, action, seq);
CREATE INDEX audit_entry_user ON audit_entry (tenant, account_id, user_id) WHERE user_id <> '';
CREATE INDEX audit_entry_at ON audit_entry (at);
