package auth

import (
	"slices"

	"kith/core"
)

// Role is what an API key may be used for.
type Role string

const (
	// RoleAll permits every call, signs user tokens, and is the only role that may
	// manage keys.
	RoleAll Role = "all"
	// RoleRead permits reads, except those of keys and widgets, and no writes.
	RoleRead Role = "read"
	// RoleEvents permits the calls that a storefront's server makes: identify users,
	// log events, look up codes.
	RoleEvents Role = "events"
	// RoleImport permits uploads, import jobs and downloads of their results.
	RoleImport Role = "import"
	// RoleTokens signs user tokens and permits no call.
	RoleTokens Role = "tokens"
)

// Roles lists every role.
func Roles() []Role { return []Role{RoleAll, RoleRead, RoleEvents, RoleImport, RoleTokens} }

// ParseRole returns s as a role, or an error about field.
func ParseRole(field, s string) (Role, error) {
	if role := Role(s); slices.Contains(Roles(), role) {
		return role, nil
	}
	return "", core.Invalid(field, "must be one of all, read, events, import, tokens")
}

// The edge decides by a role about the calls that it answers itself. Package operation, which it
// does not link, has all others.

// Senders are the roles that log events and identify users.
func Senders() []Role { return []Role{RoleAll, RoleEvents} }

// CodeReaders are the roles that look up codes.
func CodeReaders() []Role { return []Role{RoleAll, RoleRead, RoleEvents} }
