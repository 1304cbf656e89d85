// Package peopledb has the SQL of the people who work in the portal: their sign-ins, their
// roles in tenants, and the audit log.
package peopledb

import (
	"context"

	"kith/backend/store"
	"kith/core"
	"kith/core/people"
)

// Person is a person as stored.
type Person struct {
	ID    people.PersonID
	Email string
	Name  string
	// Password is the argon2id hash of the password, empty if the person has none, and
	// PasswordAt when it was set or removed.
	Password   string
	PasswordAt core.Time
	// TOTP is the sealed secret of the authenticator app, or empty. TOTPOn is true once a
	// code has confirmed it. TOTPStep is the step of the last code.
	TOTP     string
	TOTPOn   bool
	TOTPStep int64
	Created  core.Time
	// SignedIn is when the person last signed in; zero is never.
	SignedIn core.Time
	// Proven is when an identity provider first proved the address; zero is never.
	Proven core.Time
}

var personColumns = store.Selection[Person]{
	store.Col(`p.id`, func(p *Person) any { return &p.ID }),
	store.Col(`p.email`, func(p *Person) any { return &p.Email }),
	store.Col(`p.name`, func(p *Person) any { return &p.Name }),
	store.Col(`p.password`, func(p *Person) any { return &p.Password }),
	store.Col(`p.password_at`, func(p *Person) any { return &p.PasswordAt }),
	store.Col(`p.totp`, func(p *Person) any { return &p.TOTP }),
	store.Col(`p.totp_on`, func(p *Person) any { return &p.TOTPOn }),
	store.Col(`p.totp_step`, func(p *Person) any { return &p.TOTPStep }),
	store.Col(`p.created_at`, func(p *Person) any { return &p.Created }),
	store.Col(`coalesce(p.signed_in_at, 0)`, func(p *Person) any { return &p.SignedIn }),
	store.Col(`coalesce(p.proven_at, 0)`, func(p *Person) any { return &p.Proven }),
}

// WithEmail returns the people with an address, as people.ParseEmail returns it: first the
// people with a proven address, then the oldest.
func WithEmail(ctx context.Context, r store.Reads, email string) ([]Person, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+personColumns.SQL()+` FROM person p WHERE p.email = ?
		ORDER BY p.proven_at IS NULL, p.created_at, p.id LIMIT ?`, email, people.MaxTenants)
	return personColumns.All(rows, err, "people with an address")
}

// Find returns a person; ok is false if there is none.
func Find(ctx context.Context, r store.Reads, id people.PersonID) (p Person, ok bool, err error) {
	ok, err = personColumns.One(r.QueryRowContext(ctx, `SELECT `+personColumns.SQL()+` FROM person p WHERE p.id = ?`, string(id)), "person", &p)
	return p, ok, err
}

// Insert adds a person who has not signed in yet.
func Insert(ctx context.Context, tx *store.Tx, p Person) error {
	return tx.Exec(ctx, "person", `INSERT INTO person (id, email, name, password, password_at, created_at, proven_at)
		VALUES (?, ?, ?, ?, ?, ?, nullif(?, 0))`,
		string(p.ID), p.Email, p.Name, p.Password, int64(tx.Now), int64(tx.Now), int64(p.Proven))
}

// Absorb makes a person whose address is proven a member of all tenants of the people with
// the same address that is not, and deletes those people, with their passwords and sessions.
// It returns how many they were. In a tenant of both, the role of the first stays.
func Absorb(ctx context.Context, tx *store.Tx, p Person) (int, error) {
	const others = `SELECT id FROM person WHERE email = ?1 AND id <> ?2 AND proven_at IS NULL`
	if err := tx.Exec(ctx, "absorb memberships", `UPDATE OR IGNORE membership SET person = ?2 WHERE person IN (`+others+`)`, p.Email, string(p.ID)); err != nil {
		return 0, err
	}
	if err := tx.Exec(ctx, "absorb memberships", `DELETE FROM membership WHERE person IN (`+others+`)`, p.Email, string(p.ID)); err != nil {
		return 0, err
	}
	return tx.Count(ctx, "absorb people", `DELETE FROM person WHERE id IN (`+others+`)`, p.Email, string(p.ID))
}

// SetName changes the name of a person.
func SetName(ctx context.Context, tx *store.Tx, id people.PersonID, name string) error {
	return tx.Exec(ctx, "name person", `UPDATE person SET name = ? WHERE id = ?`, name, string(id))
}

// SetPassword replaces the hash of a person's password at the time of the transaction.
func SetPassword(ctx context.Context, tx *store.Tx, id people.PersonID, hash string) error {
	return tx.Exec(ctx, "set password", `UPDATE person SET password = ?, password_at = ? WHERE id = ?`, hash, int64(tx.Now), string(id))
}

// SetTOTP replaces the sealed secret of a person's authenticator app. An empty one turns
// two-step sign-in off.
func SetTOTP(ctx context.Context, tx *store.Tx, id people.PersonID, sealed string) error {
	return tx.Exec(ctx, "set totp", `UPDATE person SET totp = ?, totp_on = 0, totp_step = 0 WHERE id = ?`, sealed, string(id))
}

// UseTOTP records the step of a code, and that the secret is confirmed. It returns false
// if a code of that step or a later one was used already.
func UseTOTP(ctx context.Context, tx *store.Tx, id people.PersonID, step int64) (bool, error) {
	return tx.Changed(ctx, "use totp", `UPDATE person SET totp_on = 1, totp_step = ?1 WHERE id = ?2 AND totp <> '' AND totp_step < ?1`, step, string(id))
}

// SetRecovery replaces a person's recovery codes by those with the given hashes.
func SetRecovery(ctx context.Context, tx *store.Tx, id people.PersonID, hashes []string) error {
	if err := tx.Exec(ctx, "delete recovery codes", `DELETE FROM person_recovery WHERE person = ?`, string(id)); err != nil {
		return err
	}
	return tx.Exec(ctx, "put recovery codes", `INSERT INTO person_recovery (person, hash) SELECT ?, value FROM json_each(?)`, string(id), store.TextList(hashes))
}

// UseRecovery removes a recovery code. It returns false if the person has no such code.
func UseRecovery(ctx context.Context, tx *store.Tx, id people.PersonID, hash string) (bool, error) {
	return tx.Changed(ctx, "use recovery code", `DELETE FROM person_recovery WHERE person = ? AND hash = ?`, string(id), hash)
}

// CountRecovery returns how many unused recovery codes a person has.
func CountRecovery(ctx context.Context, r store.Reads, id people.PersonID) (int, error) {
	return store.One[int](ctx, r, "recovery codes", `SELECT count(*) FROM person_recovery WHERE person = ?`, string(id))
}

// PutReset stores the link with which a person chooses a new password. It replaces an
// earlier one.
func PutReset(ctx context.Context, tx *store.Tx, id people.PersonID, hash string, expires core.Time) error {
	return tx.Exec(ctx, "put reset", `INSERT INTO person_reset (person, hash, expires_at) VALUES (?1, ?2, ?3)
		ON CONFLICT (person) DO UPDATE SET hash = ?2, expires_at = ?3`, string(id), hash, int64(expires))
}

// FindReset returns the person whose reset link has a hash and has not expired; ok is
// false if there is none.
func FindReset(ctx context.Context, r store.Reads, hash string, now core.Time) (p Person, ok bool, err error) {
	ok, err = personColumns.One(r.QueryRowContext(ctx, `SELECT `+personColumns.SQL()+`
		FROM person_reset x JOIN person p ON p.id = x.person WHERE x.hash = ? AND x.expires_at > ?`, hash, int64(now)), "reset", &p)
	return p, ok, err
}

// DeleteReset removes the reset link of a person, if there is one.
func DeleteReset(ctx context.Context, tx *store.Tx, id people.PersonID) error {
	return tx.Exec(ctx, "delete reset", `DELETE FROM person_reset WHERE person = ?`, string(id))
}

// DeleteLonely deletes a person who is a member of no tenant, with their sessions. It
// returns false if the person is a member of one.
func DeleteLonely(ctx context.Context, tx *store.Tx, id people.PersonID) (bool, error) {
	return tx.Changed(ctx, "delete person", `DELETE FROM person WHERE id = ?1 AND `+lonely, string(id))
}

// lonely is the condition that a person is a member of no tenant that exists.
const lonely = `NOT EXISTS (SELECT 1 FROM membership m JOIN tenant t ON t.alias = m.tenant WHERE m.person = person.id)`

// DeleteOldLonely deletes up to limit people who are members of no tenant, and neither
// were created nor signed in since a time.
func DeleteOldLonely(ctx context.Context, tx *store.Tx, since core.Time, limit int) (int, error) {
	return tx.Count(ctx, "delete people", `DELETE FROM person WHERE id IN (SELECT id FROM person
		WHERE max(created_at, coalesce(signed_in_at, 0)) < ? AND `+lonely+` LIMIT ?)`, int64(since), limit)
}
