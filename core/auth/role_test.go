package auth

import (
	"strings"
	"testing"

	"kith/core"
)

// The permissions of each role, repeated here so that a change of role.go must be
// deliberate.
func TestRole_Permits(t *testing.T) {
	for _, c := range []struct {
		op    Operation
		roles string
	}{
		{"GET /users", "all read"},
		{"GET /account/{account}/user/{user}/pii", "all read"},
		{"GET /subscription/{endpointUrl}/deliveries", "all read"},
		{"GET /code/{code}", "all read events"},
		{"GET /discount/{code}", "all read events"},
		{"GET /coupon/{code}", "all read events"},
		{"GET /export/{id}", "all read"},
		{"GET /export/{id}/download", "all read import"},
		{"GET /widget/account/{account}/user/{user}/render", "all"},
		{"GET /keys", "all"},
		{"POST /keys", "all"},
		{"POST /keys/{name}/rotate", "all"},
		{"DELETE /keys/{name}", "all"},
		{"POST /graphql", "all read events import"},
		{"PUT /open/account/{account}/user/{user}", "all events"},
		{"POST /open/account/{account}/user/{user}", "all events"},
		{"DELETE /open/account/{account}/user/{user}", "all"},
		{"POST /open/account/{account}/user/{user}/events", "all events"},
		{"POST /user", "all events"},
		{"POST /integration/segment", "all events"},
		{"GET /integration/segment/settings", "all read"},
		{"PUT /integration/segment/settings", "all"},
		{"POST /integration/segment/secret", "all"},
		{"POST /accountsync", "all"},
		{"POST /open/code/{code}/account/{account}/user/{user}", "all"},
		{"POST /credit/bulkredeem", "all"},
		{"POST /export", "all"},
		{"POST /export/upload", "all import"},
		{"POST /subscription/{endpointUrl}/secret", "all"},
		{"PUT /widget/account/{account}/user/{user}/upsert", "all"},
		{"PATCH /anything", "all"},
		{"", "all"},

		{"Query.users", "all read"},
		{"Query.renderWidget", "all"},
		{"Query.referralCode", "all read events"},
		{"Query.job", "all read import"},
		{"Query.jobs", "all read import"},
		{"Query.validateJobCreation", "all read import"},
		{"Mutation.validateJobCreation", "all import"},
		{"Mutation.createJob", "all import"},
		{"Mutation.createJob exports", "all"},
		{"exports", "all read"},
		{"Mutation.deleteJob", "all"},
		{"Mutation.upsertUser", "all events"},
		{"Mutation.upsertUsers", "all events"},
		{"Mutation.logUserEvent", "all events"},
		{"Mutation.logUserEvents", "all events"},
		{"Mutation.deleteUser", "all"},
		{"Mutation.createReward", "all"},
		{"Mutation.anything", "all"},
		{"User.referrals", "all read"},
		{"User.rewards", "all read"},
		{"User.widget", "all"},
		{"User.referredBy", "all read events"},
		{"UserEventResult.user", "all read events"},
		{"Job.stats", "all read import"},
	} {
		var roles []string
		for _, r := range Roles() {
			if r.Permits(c.op) {
				roles = append(roles, string(r))
			}
			if err := r.Require(c.op); (err == nil) != r.Permits(c.op) {
				t.Errorf("%s of %s: %v", c.op, r, err)
			}
		}
		if got := strings.Join(roles, " "); got != c.roles {
			t.Errorf("%s: permitted to %q, want %q", c.op, got, c.roles)
		}
	}
	if Role("").Permits("GET /users") || Role("owner").Permits("POST /graphql") {
		t.Error("an unknown role permits something")
	}
}

func TestRole_Require(t *testing.T) {
	err, ok := RoleEvents.Require("GET /users").(*core.Error)
	if !ok || err.Code != core.CodeForbidden ||
		err.Error() != "API key: has the role events, which does not permit GET /users; use a key with the role all or read" {
		t.Errorf("%v", err)
	}
}

func TestParseRole(t *testing.T) {
	for _, r := range Roles() {
		if got, err := ParseRole("role", string(r)); err != nil || got != r {
			t.Errorf("%s: %s, %v", r, got, err)
		}
	}
	for _, s := range []string{"", "All", "write", "all "} {
		if got, err := ParseRole("role", s); err == nil {
			t.Errorf("%q is accepted as %s", s, got)
		}
	}
}
