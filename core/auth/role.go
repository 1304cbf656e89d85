package auth

import (
	"slices"
	"strings"

	"kith/core"
)

// Role is what an API key may be used for.
type Role string

const (
	// RoleAll permits every call, signs user tokens, and alone manages keys.
	RoleAll Role = "all"
	// RoleRead permits every read, and no write.
	RoleRead Role = "read"
	// RoleEvents permits what a storefront's server sends while somebody shops.
	RoleEvents Role = "events"
	// RoleImport permits imports of files, their jobs and their results.
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

// Operation is what a caller asks for. A REST call is its method and its path
// behind /api/v1/{tenant}, such as "GET /users"; a field of GraphQL is its type and
// its name, such as "Mutation.upsertUser". Fields with a value of their own, such as
// User.email, are no operations: they are permitted with the object they belong to.
type Operation string

// Operations that more than one place asks about.
const (
	LookUpCode  Operation = "GET /code/{code}"
	LogEvents   Operation = "POST " + userPath + "/events"
	LogEventsQL Operation = "Mutation.logUserEvent"
	Identify    Operation = "PUT " + userPath
	// ReadExports is reading what an export has: an operation that several paths
	// and fields share, with those about imports.
	ReadExports Operation = "exports"
	// CreateExports is making an export by GraphQL, where imports are made too.
	CreateExports Operation = "Mutation.createJob exports"

	userPath   = "/open/account/{account}/user/{user}"
	anyQL      = "POST /graphql"
	anyQLByGet = "GET /graphql"
)

// permitted is what the roles between all and tokens permit, besides what Permits
// says of reads. Whatever is not here needs the role all, also what is added to the
// API later.
var permitted = map[Role][]Operation{
	RoleRead: {anyQL, ReadExports},
	RoleEvents: {
		anyQL, anyQLByGet,
		LogEvents, LogEventsQL, "Mutation.logUserEvents",
		Identify, "POST " + userPath, "POST /user", "Mutation.createUser", "Mutation.upsertUser", "Mutation.upsertUsers",
		LookUpCode, "GET /discount/{code}", "GET /coupon/{code}", "Query.referralCode",
		// What is answered to these.
		"UserEventResult.events", "BulkUserEventResult.events", "ApiError.events", "UserEventResult.user", "User.referredBy",
	},
	RoleImport: {
		anyQL, anyQLByGet,
		"POST /export/upload", "GET /export/{id}/download",
		"Query.validateJobCreation", "Mutation.validateJobCreation", "Mutation.createJob",
		"Query.job", "Query.jobs", "JobList.data", "Job.stats",
	},
}

// privileged are the reads that need the role all: they show which keys there are, or
// a user token, which may write.
var privileged = []Operation{
	"GET /keys",
	"GET /widget/account/{account}/user/{user}/render", "Query.renderWidget", "User.widget",
}

// Permits reports whether a key of this role may be used for an operation.
func (r Role) Permits(op Operation) bool {
	switch {
	case r == RoleAll:
		return true
	case r == RoleRead && op.reads() && !slices.Contains(privileged, op):
		return true
	}
	return slices.Contains(permitted[r], op)
}

// reads reports whether an operation only reads: GET, and all of GraphQL but
// mutations.
func (op Operation) reads() bool {
	method, _, isREST := strings.Cut(string(op), " ")
	of, _, isField := strings.Cut(string(op), ".")
	return isREST && method == "GET" || !isREST && isField && of != "Mutation"
}

// Require returns nil when the role permits an operation, or the forbidden error
// that says what does.
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
