-- Sign-in by OpenID Connect.

-- The subject at an identity provider with which a person signs in. Written at the first
-- such sign-in, removed with the person.
CREATE TABLE person_identity (
  issuer     TEXT NOT NULL,
  subject    TEXT NOT NULL,
  person     TEXT NOT NULL REFERENCES person (id) ON DELETE CASCADE,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (issuer, subject)
) STRICT, WITHOUT ROWID;
CREATE INDEX person_identity_person ON person_identity (person);

-- A person who signs in for the first time accepts the invitations of the address.
CREATE INDEX invitation_email ON invitation (email);
