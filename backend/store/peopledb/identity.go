package peopledb

import (
	"context"

	"kith/backend/store"
	"kith/core"
	"kith/core/people"
)

// FindByIdentity returns the person who signs in as a subject at an identity provider; ok
// is false if there is none.
func FindByIdentity(ctx context.Context, r store.Reads, issuer, subject string) (p Person, ok bool, err error) {
	ok, err = personColumns.One(r.QueryRowContext(ctx, `SELECT `+personColumns.SQL()+`
		FROM person_identity i JOIN person p ON p.id = i.person WHERE i.issuer = ? AND i.subject = ?`, issuer, subject), "identity", &p)
	return p, ok, err
}

// PutIdentity lets a person sign in as a subject at an identity provider.
func PutIdentity(ctx context.Context, tx *store.Tx, issuer, subject string, id people.PersonID) error {
	return tx.Exec(ctx, "put identity", `INSERT INTO person_identity (issuer, subject, person, created_at) VALUES (?, ?, ?, ?)`,
		issuer, subject, string(id), int64(tx.Now))
}

// HasIdentity reports whether a person signs in at an identity provider.
func HasIdentity(ctx context.Context, r store.Reads, issuer string, id people.PersonID) (bool, error) {
	return store.One[bool](ctx, r, "identity", `SELECT EXISTS (SELECT 1 FROM person_identity WHERE person = ? AND issuer = ?)`, string(id), issuer)
}

// InvitationsOf returns the invitations of an address that have not expired.
func InvitationsOf(ctx context.Context, r store.Reads, email string, now core.Time) ([]people.Invitation, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+invitationColumns.SQL()+` FROM invitation i
		WHERE i.email = ? AND i.expires_at > ? AND `+store.TenantExists("i")+` ORDER BY i.tenant LIMIT ?`, email, int64(now), people.MaxTenants)
	return invitationColumns.All(rows, err, "invitations")
}
