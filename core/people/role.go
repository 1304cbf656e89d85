// Package people decides what the members of a tenant may do in the portal: their roles,
// passwords, one-time codes, sessions and invitations, and what the audit log records.
package people

import (
	"slices"
	"strings"

	"kith/core"
)

// PersonID identifies a person: a record id (core.NewID).
type PersonID string

// Role is what a member of a tenant may do in the portal.
type Role string

// The roles, from the one that may do most to the one that may do least.
const (
	Owner   Role = "owner"
	Manager Role = "manager"
	Support Role = "support"
	Viewer  Role = "viewer"
)

// Roles lists every role.
func Roles() []Role { return []Role{Owner, Manager, Support, Viewer} }

// ParseRole returns s as a role, or an error about field.
func ParseRole(field, s string) (Role, error) {
	if role := Role(s); slices.Contains(Roles(), role) {
		return role, nil
	}
	return "", core.Invalid(field, "must be one of owner, manager, support, viewer")
}

// Describe returns what a role may do, as a sentence for the person who chooses it.
func (r Role) Describe() string {
	switch r {
	case Owner:
		return "May do everything, also invite members and create API keys."
	case Manager:
		return "Runs the program: changes programs, imports, exports and integrations."
	case Support:
		return "Helps users: moderates rewards, adds rewards and events, blocks users."
	case Viewer:
		return "Reads programs, referrals and users, and changes nothing."
	}
	return ""
}

// Caller is a person who acts as a member of a tenant. Use cases that members call take a
// Caller and require that it may run their operation; see operation.Operation.
type Caller struct {
	Person PersonID
	// Email is the person's address, for the audit log.
	Email string
	// Tenant is the tenant that the person acts in, and Role the person's role there.
	Tenant core.TenantAlias
	Role   Role
	// From is the IP address that the call came from, empty if it is unknown.
	From string
	// InvitedBy is who vouches for Email; see Vouching.
	InvitedBy string
	// Key is true for an API key, which is no person; see KeyHolder.
	Key bool
	// Confirmed is true if the person gave the password recently; see Session.IsConfirmed.
	// For the operator and an API key it is always true.
	Confirmed bool
}

// OperatorOf returns the operator, who uses the command line, as a caller in a tenant.
func OperatorOf(tenant core.TenantAlias) Caller {
	return Caller{Email: Operator, Tenant: tenant, Role: Owner, Confirmed: true}
}

// KeyHolder returns the caller with the API key of a name. Its role permits what the role
// of the key does: operation.RequireKey has decided that before.
func KeyHolder(tenant core.TenantAlias, name, from string) Caller {
	return Caller{Email: strings.TrimSpace(apiKey + " " + name), Tenant: tenant, Role: Owner, From: from, Key: true, Confirmed: true}
}

// NotConfirmed is the error about the field password of a change that needs a recent one.
func NotConfirmed() error {
	return &core.Error{Code: core.CodeForbidden, Field: "password", Message: "must be given again for this change"}
}

// testPrefix begins the alias of a test tenant (clients 2.1.3).
const testPrefix = "test_"

// Home returns the tenant that has the members of a tenant: its live tenant. The same
// people work in live and test mode, with the same roles.
func Home(tenant core.TenantAlias) core.TenantAlias {
	return core.TenantAlias(strings.TrimPrefix(string(tenant), testPrefix))
}
