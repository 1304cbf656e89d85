package auth

import (
	"slices"
	"strings"

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

// Operation is a call that a role may permit. For REST it is the method and the path
// after /api/v1/{tenant}, such as "GET /users". For GraphQL it is the type and name
// of a field, such as "Mutation.upsertUser". Scalar fields, such as User.email, are
// not operations: they are permitted with their object.
type Operation string

// Operations that are used in several places.
const (
	LookUpCode  Operation = "GET /code/{code}"
	LogEvents   Operation = "POST " + userPath + "/events"
	LogEventsQL Operation = "Mutation.logUserEvent"
	Identify    Operation = "PUT " + userPath
	// Pipeline is a call of a customer-data pipeline.
	Pipeline Operation = "POST /integration/segment"
	// ReadExports is reading an export. The paths and fields for it also serve
	// imports, so it is checked in addition.
	ReadExports Operation = "exports"
	// CreateExports is creating an export by Mutation.createJob, which also creates
	// imports.
	CreateExports Operation = "Mutation.createJob exports"

	userPath   = "/open/account/{account}/user/{user}"
	anyQL      = "POST /graphql"
	anyQLByGet = "GET /graphql"
)

// permitted returns the operations of the roles read, events and import, in addition to the
// reads that Permits allows. An operation that is not listed needs the role all.
func (r Role) permitted() []Operation {
	switch r {
	case RoleRead:
		return []Operation{anyQL, ReadExports, "POST /programs/{program}/try"}
	case RoleEvents:
		return []Operation{
			anyQL, anyQLByGet,
			LogEvents, LogEventsQL, "Mutation.logUserEvents",
			Identify, "POST " + userPath, "POST /user", "Mutation.createUser", "Mutation.upsertUser", "Mutation.upsertUsers",
			Pipeline,
			LookUpCode, "GET /discount/{code}", "GET /coupon/{code}", "Query.referralCode",
			// Fields of the responses to these.
			"UserEventResult.events", "BulkUserEventResult.events", "ApiError.events", "UserEventResult.user", "User.referredBy",
		}
	case RoleImport:
		return []Operation{
			anyQL, anyQLByGet,
			"POST /export/upload", "GET /export/{id}/download",
			"Query.validateJobCreation", "Mutation.validateJobCreation", "Mutation.createJob",
			"Query.job", "Query.jobs", "JobList.data", "Job.stats",
		}
	}
	return nil
}

// privileged lists the reads that need the role all, because they return the list of
// keys, or a user token, which permits writes.
var privileged = []Operation{
	"GET /keys",
	"GET /widget/account/{account}/user/{user}/render", "Query.renderWidget", "User.widget",
}

// Permits reports whether a key of this role may perform an operation.
func (r Role) Permits(op Operation) bool {
	switch {
	case r == RoleAll:
		return true
	case r == RoleRead && op.reads() && !slices.Contains(privileged, op):
		return true
	}
	return slices.Contains(r.permitted(), op)
}

// reads reports whether an operation is a read: GET, or a GraphQL field that is not a
// mutation.
func (op Operation) reads() bool {
	method, _, isREST := strings.Cut(string(op), " ")
	of, _, isField := strings.Cut(string(op), ".")
	return isREST && method == "GET" || !isREST && isField && of != "Mutation"
}

// Require returns nil if the role permits an operation, else a CodeForbidden error
// that lists the roles that do.
func (r Role) Require(op Operation) error {
	if r.Permits(op) {
		return nil
	}
	var others []string
	for _, other := range Roles() {
		if other.Permits(op) {
			others = append(others, string(other))
		}
	}
	return &core.Error{
		Code: core.CodeForbidden, Field: "API key",
		Message: "has the role " + string(r) + ", which does not permit " + string(op) + "; use a key with the role " + strings.Join(others, " or "),
	}
}
