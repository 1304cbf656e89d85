package peopledb

import (
	"context"

	"kith/backend/store"
	"kith/core"
	"kith/core/people"
)

var memberColumns = store.Selection[people.Member]{
	store.Col(`p.id`, func(m *people.Member) any { return &m.Person }),
	store.Col(`p.email`, func(m *people.Member) any { return &m.Email }),
	store.Col(`p.name`, func(m *people.Member) any { return &m.Name }),
	store.Col(`m.role`, func(m *people.Member) any { return &m.Role }),
	store.Col(`p.totp_on`, func(m *people.Member) any { return &m.TOTP }),
	store.Col(`m.created_at`, func(m *people.Member) any { return &m.Joined }),
	store.Col(`coalesce(p.signed_in_at, 0)`, func(m *people.Member) any { return &m.SignedIn }),
	store.Col(`p.proven_at IS NOT NULL`, func(m *people.Member) any { return &m.Proven }),
	store.Col(`m.invited_by`, func(m *people.Member) any { return &m.InvitedBy }),
}

// Members returns the members of a tenant by address. The tenant is a people.Home.
func Members(ctx context.Context, r store.Reads, home core.TenantAlias) ([]people.Member, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+memberColumns.SQL()+` FROM membership m JOIN person p ON p.id = m.person
		WHERE m.tenant = ? ORDER BY p.email, p.id LIMIT ?`, string(home), people.MaxMembers)
	return memberColumns.All(rows, err, "members")
}

// FindMember returns one member of a tenant; ok is false if the person is none.
func FindMember(ctx context.Context, r store.Reads, home core.TenantAlias, id people.PersonID) (m people.Member, ok bool, err error) {
	ok, err = memberColumns.One(r.QueryRowContext(ctx, `SELECT `+memberColumns.SQL()+` FROM membership m JOIN person p ON p.id = m.person
		WHERE m.tenant = ? AND m.person = ?`, string(home), string(id)), "member", &m)
	return m, ok, err
}

// FindMemberByEmail returns the member of a tenant with an address; ok is false if there is
// none.
func FindMemberByEmail(ctx context.Context, r store.Reads, home core.TenantAlias, email string) (m people.Member, ok bool, err error) {
	ok, err = memberColumns.One(r.QueryRowContext(ctx, `SELECT `+memberColumns.SQL()+` FROM person p CROSS JOIN membership m
		WHERE m.tenant = ? AND m.person = p.id AND p.email = ? LIMIT 1`, string(home), email), "member", &m)
	return m, ok, err
}

// CountMembers returns how many members a tenant has, and how many of them are owners.
// Rows of people who do not exist do not count.
func CountMembers(ctx context.Context, r store.Reads, home core.TenantAlias) (members, owners int, err error) {
	var n counts
	_, err = countColumns.One(r.QueryRowContext(ctx, `SELECT `+countColumns.SQL()+` FROM membership m JOIN person p ON p.id = m.person
		WHERE m.tenant = ?`, string(home)), "count members", &n)
	return n.members, n.owners, err
}

type counts struct{ members, owners int }

var countColumns = store.Selection[counts]{
	store.Col(`count(*)`, func(n *counts) any { return &n.members }),
	store.Col(`coalesce(sum(m.role = 'owner'), 0)`, func(n *counts) any { return &n.owners }),
}

// PutMember gives a person a role in a tenant. invitedBy is who invited a new member; of a
// member it is not changed.
func PutMember(ctx context.Context, tx *store.Tx, home core.TenantAlias, id people.PersonID, role people.Role, invitedBy string) error {
	return tx.Exec(ctx, "put member", `INSERT INTO membership (tenant, person, role, created_at, invited_by) VALUES (?1, ?2, ?3, ?4, ?5)
		ON CONFLICT (tenant, person) DO UPDATE SET role = ?3`, string(home), string(id), string(role), int64(tx.Now), invitedBy)
}

// DeleteMember ends the membership of a person in a tenant.
func DeleteMember(ctx context.Context, tx *store.Tx, home core.TenantAlias, id people.PersonID) error {
	return tx.Exec(ctx, "delete member", `DELETE FROM membership WHERE tenant = ? AND person = ?`, string(home), string(id))
}

// Membership is a tenant of a person.
type Membership struct {
	Tenant core.TenantAlias
	Role   people.Role
	// Test is true if the tenant has a test tenant.
	Test bool
	// TimeZone is that of the tenant, TestTimeZone that of its test tenant; see tenantdb.Tenant.
	TimeZone, TestTimeZone string
	// InvitedBy is as in people.Member.
	InvitedBy string
}

var membershipColumns = store.Selection[Membership]{
	store.Col(`m.tenant`, func(m *Membership) any { return &m.Tenant }),
	store.Col(`m.role`, func(m *Membership) any { return &m.Role }),
	store.Col(`EXISTS (SELECT 1 FROM tenant x WHERE x.alias = 'test_' || m.tenant)`, func(m *Membership) any { return &m.Test }),
	store.Col(`coalesce((SELECT time_zone FROM tenant WHERE alias = m.tenant), '')`, func(m *Membership) any { return &m.TimeZone }),
	store.Col(`coalesce((SELECT time_zone FROM tenant WHERE alias = 'test_' || m.tenant), '')`, func(m *Membership) any { return &m.TestTimeZone }),
	store.Col(`m.invited_by`, func(m *Membership) any { return &m.InvitedBy }),
}

// Memberships returns the tenants of a person in alphabetical order.
func Memberships(ctx context.Context, r store.Reads, id people.PersonID) ([]Membership, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+membershipColumns.SQL()+` FROM membership m
		WHERE m.person = ? AND `+store.TenantExists("m")+` ORDER BY m.tenant LIMIT ?`, string(id), people.MaxTenants)
	return membershipColumns.All(rows, err, "memberships")
}

var invitationColumns = store.Selection[people.Invitation]{
	store.Col(`tenant`, func(i *people.Invitation) any { return &i.Tenant }),
	store.Col(`id`, func(i *people.Invitation) any { return &i.ID }),
	store.Col(`email`, func(i *people.Invitation) any { return &i.Email }),
	store.Col(`role`, func(i *people.Invitation) any { return &i.Role }),
	store.Col(`invited_by`, func(i *people.Invitation) any { return &i.By }),
	store.Col(`created_at`, func(i *people.Invitation) any { return &i.Created }),
	store.Col(`expires_at`, func(i *people.Invitation) any { return &i.Expires }),
}

// Invitations returns the invitations of a tenant that have not expired, by address.
func Invitations(ctx context.Context, r store.Reads, home core.TenantAlias, now core.Time) ([]people.Invitation, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+invitationColumns.SQL()+` FROM invitation i
		WHERE i.tenant = ? AND i.expires_at > ? ORDER BY i.email LIMIT ?`, string(home), int64(now), people.MaxInvitations)
	return invitationColumns.All(rows, err, "invitations")
}

// FindInvitation returns the invitation whose link has a hash and has not expired; ok is
// false if there is none.
func FindInvitation(ctx context.Context, r store.Reads, hash string, now core.Time) (i people.Invitation, ok bool, err error) {
	ok, err = invitationColumns.One(r.QueryRowContext(ctx, `SELECT `+invitationColumns.SQL()+` FROM invitation i
		WHERE i.hash = ? AND i.expires_at > ? AND `+store.TenantExists("i"), hash, int64(now)), "invitation", &i)
	return i, ok, err
}

// PutInvitation stores an invitation. It replaces an earlier one of the same address.
func PutInvitation(ctx context.Context, tx *store.Tx, hash string, i people.Invitation) error {
	return tx.Exec(ctx, "put invitation", `INSERT INTO invitation (tenant, id, hash, email, role, invited_by, created_at, expires_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
		ON CONFLICT (tenant, email) DO UPDATE SET id = ?2, hash = ?3, role = ?5, invited_by = ?6, created_at = ?7, expires_at = ?8`,
		string(i.Tenant), i.ID, hash, i.Email, string(i.Role), i.By, int64(i.Created), int64(i.Expires))
}

// TakeInvitation removes an invitation of a tenant and returns it; ok is false if there is
// none.
func TakeInvitation(ctx context.Context, tx *store.Tx, home core.TenantAlias, id string) (i people.Invitation, ok bool, err error) {
	ok, err = invitationColumns.One(tx.QueryRowContext(ctx, `DELETE FROM invitation WHERE tenant = ? AND id = ? RETURNING `+invitationColumns.SQL(),
		string(home), id), "take invitation", &i)
	return i, ok, err
}

// DeleteOldInvitations removes up to limit invitations that expired before a time.
func DeleteOldInvitations(ctx context.Context, tx *store.Tx, before core.Time, limit int) (int, error) {
	return tx.Count(ctx, "delete expired invitations", `DELETE FROM invitation WHERE (tenant, id) IN (
		SELECT tenant, id FROM invitation WHERE expires_at < ? LIMIT ?)`, int64(before), limit)
}
