package people

import "kith/core"

// Member is a person with a role in a tenant.
type Member struct {
	Person PersonID
	Email  string
	Name   string
	Role   Role
	// TOTP is true if the person signs in with two steps.
	TOTP bool
	// Joined is when the person became a member, SignedIn when the person last signed in;
	// zero is never.
	Joined, SignedIn core.Time
	// Proven is true if an identity provider has proved the address. Otherwise InvitedBy
	// vouches for it: who invited the person, as the audit log names them; empty if that is
	// not known.
	Proven    bool
	InvitedBy string
}

// Voucher returns who vouches for the address of a member; see Vouching.
func (m Member) Voucher() string { return Vouching(m.Proven, m.InvitedBy) }

// Vouching returns who vouches for the address of a person: the inviter, or empty if the
// address is proven. The operator, who could change the audit log itself, is not named.
func Vouching(proven bool, invitedBy string) string {
	if proven || invitedBy == Operator {
		return ""
	}
	return invitedBy
}

// Invitation is an open invitation to a tenant.
type Invitation struct {
	Tenant core.TenantAlias
	ID     string
	Email  string
	Role   Role
	// By is who invited, as the audit log names them.
	By               string
	Created, Expires core.Time
}

// CheckRole returns an error about field if the caller may not give a role to a member, or
// take it away. An API key may not for owners: with a stolen key, a stranger could otherwise
// become an owner, or remove the owners who would revoke the key.
func (c Caller) CheckRole(field string, role Role) error {
	if !c.Key || role != Owner {
		return nil
	}
	return &core.Error{Code: core.CodeForbidden, Field: field, Message: "an API key cannot invite, change or remove an owner; sign in to the portal as an owner"}
}
