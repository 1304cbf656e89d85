// Package operation is the catalogue of what callers do with a tenant. It lists each operation
// once: the roles that permit it, and its name in the audit log. A REST route, a GraphQL field, a
// page of the portal and a use case name an operation of the catalogue; nothing else decides by a
// role. Users and visitors have no role: the tenant's secure mode (auth.SecureMode) admits them.
//
// The component does not link it: auth has the roles of the calls that an edge answers.
package operation

import (
	"slices"
	"strings"

	"kith/core"
	"kith/core/auth"
	"kith/core/people"
)

// Operation is something that callers do with a tenant. All are in the catalogue.
type Operation struct {
	// Name is "subject.verb".
	Name   string
	Effect Effect
	// Right is what a person's role must permit; nil: no page of the portal does this, or every
	// person may.
	Right *Right
	// Keys are the roles of API keys that may; none: no call of the API does this.
	Keys []auth.Role
	// Action is its name in the audit log; empty: the audit log has no entry for it.
	Action people.Action
	// Did says what a caller has done, in words that follow the name of the caller.
	Did string
	// Confirmed is true if a person must have given the password recently.
	Confirmed bool
}

// Effect is what an operation does to the data of a tenant.
type Effect string

// The effects.
const (
	Reads   Effect = "reads"
	Changes Effect = "changes"
	// MovesMoney is a change that may give, take back or redeem a reward.
	MovesMoney Effect = "moves money"
)

// Right is what a role of people permits: operations that the same people may run.
type Right struct {
	// Text follows "may" and "permit to".
	Text  string
	Roles []people.Role
}

// All returns the catalogue.
func All() []*Operation { return catalogue }

// Rights returns what roles of people permit.
func Rights() []*Right { return rights }

// Permits reports whether a person with a role may run the operation.
func (o *Operation) Permits(r people.Role) bool { return slices.Contains(o.Right.Roles, r) }

// Require returns nil if a caller may run the operation, else a CodeForbidden error that lists
// the roles that may, or people.NotConfirmed. An API key of a test tenant permits nothing about
// members, because they are those of the live tenant: such keys are kept less carefully.
func (o *Operation) Require(c people.Caller) error {
	if home := people.Home(c.Tenant); c.Key && home != c.Tenant && (o.Right == readMembers || o.Right == writeMembers) {
		return &core.Error{
			Code: core.CodeForbidden, Field: "API key",
			Message: "belongs to a test tenant, whose members are those of " + string(home) + "; use an API key of " + string(home),
		}
	}
	if !o.Permits(c.Role) {
		who := "you are not a member of this tenant"
		if c.Role != "" {
			who = "your role is " + string(c.Role)
		}
		return &core.Error{
			Code:    core.CodeForbidden,
			Message: who + ", which does not permit to " + o.Right.Text + "; ask a member with the role " + list(o.Right.Roles),
		}
	}
	if o.Confirmed && !c.Confirmed {
		return people.NotConfirmed()
	}
	return nil
}

// RequireKey returns nil if an API key with a role may run the operation, else a CodeForbidden
// error about the call that lists the roles that may.
func (o *Operation) RequireKey(r auth.Role, call string) error {
	if slices.Contains(o.Keys, r) {
		return nil
	}
	return &core.Error{
		Code: core.CodeForbidden, Field: "API key",
		Message: "has the role " + string(r) + ", which does not permit " + call + "; use a key with the role " + list(o.Keys),
	}
}

func list[T ~string](roles []T) string {
	texts := make([]string, len(roles))
	for i, r := range roles {
		texts[i] = string(r)
	}
	return strings.Join(texts, " or ")
}

// Actions lists every action of the audit log.
func Actions() (all []people.Action) {
	for _, o := range catalogue {
		if o.Action != "" {
			all = append(all, o.Action)
		}
	}
	return all
}

// Did returns an action of the audit log as words that follow the name of the actor.
func Did(a people.Action) string {
	for _, o := range catalogue {
		if o.Action == a {
			return o.Did
		}
	}
	return string(a)
}

// SignInChanges lists the actions that change how a person signs in.
func SignInChanges() (all []people.Action) {
	for _, o := range []*Operation{ChangePassword, ResetPassword, MakeResetLink, EnableTOTP, DisableTOTP, UseRecoveryCode, RenewRecoveryCodes, AddIdentity} {
		all = append(all, o.Action)
	}
	return all
}
