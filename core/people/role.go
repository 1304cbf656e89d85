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

// Operation is something that members do, such as reading the audit log. Each use case
// that a member calls requires one.
type Operation string

// The operations.
const (
	ReadPrograms      Operation = "read programs and figures"
	WritePrograms     Operation = "change programs"
	ReadReferrals     Operation = "read referrals, rewards and users"
	Moderate          Operation = "approve, deny and cancel rewards"
	WriteUsers        Operation = "add rewards and events, attribute and block users"
	EraseUsers        Operation = "erase users"
	RunImports        Operation = "run imports"
	RunExports        Operation = "run exports"
	ReadIntegrations  Operation = "read integrations and logs"
	WriteIntegrations Operation = "change integrations"
	WriteKeys         Operation = "create and revoke API keys"
	ReadMembers       Operation = "read the list of members"
	WriteMembers      Operation = "invite and remove members, change roles"
	ReadAudit         Operation = "read and export the audit log"
)

// permitted is the table of the roles that may perform each operation. There is no other
// place that decides by role.
var permitted = []struct {
	operation Operation
	roles     []Role
}{
	{ReadPrograms, []Role{Owner, Manager, Support, Viewer}},
	{ReadReferrals, []Role{Owner, Manager, Support, Viewer}},
	{Moderate, []Role{Owner, Manager, Support}},
	{WriteUsers, []Role{Owner, Manager, Support}},
	{WritePrograms, []Role{Owner, Manager}},
	{EraseUsers, []Role{Owner, Manager}},
	{RunImports, []Role{Owner, Manager}},
	{RunExports, []Role{Owner, Manager}},
	{ReadIntegrations, []Role{Owner, Manager}},
	{WriteIntegrations, []Role{Owner, Manager}},
	{ReadMembers, []Role{Owner, Manager}},
	{ReadAudit, []Role{Owner, Manager}},
	{WriteMembers, []Role{Owner}},
	{WriteKeys, []Role{Owner}},
}

// Operations lists every operation in the order of the table.
func Operations() []Operation {
	all := make([]Operation, len(permitted))
	for i, row := range permitted {
		all[i] = row.operation
	}
	return all
}

// Permits reports whether a role may perform an operation.
func (r Role) Permits(op Operation) bool {
	for _, row := range permitted {
		if row.operation == op {
			return slices.Contains(row.roles, r)
		}
	}
	return false
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
// Caller and require an operation of it.
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
// of the key does: auth.Role has decided that before.
func KeyHolder(tenant core.TenantAlias, name, from string) Caller {
	return Caller{Email: strings.TrimSpace(apiKey + " " + name), Tenant: tenant, Role: Owner, From: from, Key: true, Confirmed: true}
}

// Require returns nil if the caller's role permits an operation, else a CodeForbidden
// error that lists the roles that do. An API key of a test tenant permits nothing about
// members, because they are those of the live tenant: such keys are kept less carefully.
func (c Caller) Require(op Operation) error {
	if home := Home(c.Tenant); c.Key && home != c.Tenant && (op == ReadMembers || op == WriteMembers) {
		return &core.Error{
			Code: core.CodeForbidden, Field: "API key",
			Message: "belongs to a test tenant, whose members are those of " + string(home) + "; use an API key of " + string(home),
		}
	}
	if c.Role.Permits(op) {
		return nil
	}
	var others []string
	for _, role := range Roles() {
		if role.Permits(op) {
			others = append(others, string(role))
		}
	}
	who := "you are not a member of this tenant"
	if c.Role != "" {
		who = "your role is " + string(c.Role)
	}
	return &core.Error{
		Code:    core.CodeForbidden,
		Message: who + ", which does not permit to " + string(op) + "; ask a member with the role " + strings.Join(others, " or "),
	}
}

// RequireConfirmed is Require for an operation that also needs a recent password. That error
// is NotConfirmed.
func (c Caller) RequireConfirmed(op Operation) error {
	if err := c.Require(op); err != nil || c.Confirmed {
		return err
	}
	return NotConfirmed()
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
