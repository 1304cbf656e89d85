package operation

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"kith/core"
	"kith/core/auth"
	"kith/core/people"
)

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// The rights of each role, written a second time, so that a change of the catalogue must be
// deliberate: o is owner, m manager, s support, v viewer. What API keys may is in
// backend/api/testdata/roles.txt and backend/graphql/testdata/roles.txt.
func TestRights(t *testing.T) {
	want := map[*Right]string{
		readPrograms: "omsv", readReferrals: "omsv",
		moderate: "oms", writeUsers: "oms",
		writePrograms: "om", eraseUsers: "om", runImports: "om", runExports: "om",
		readIntegrations: "om", writeIntegrations: "om", readMembers: "om", readAudit: "om",
		writeMembers: "o", writeKeys: "o",
	}
	if len(want) != len(Rights()) {
		t.Errorf("the test has %d rights, the catalogue %d", len(want), len(Rights()))
	}
	for _, o := range All() {
		if o.Right == nil {
			continue
		}
		for _, role := range people.Roles() {
			permits := strings.Contains(want[o.Right], string(role[0]))
			if o.Permits(role) != permits {
				t.Errorf("%s, %s: got %v", role, o.Name, !permits)
			}
			if err := o.Require(people.Caller{Role: role, Confirmed: true}); (err == nil) != permits {
				t.Errorf("%s, %s: %v", role, o.Name, err)
			}
		}
		if o.Permits("") || o.Permits("admin") {
			t.Errorf("%s: permitted without a role", o.Name)
		}
	}
}

// Each operation has a name of its own, a description, and a caller that may run it or an entry
// in the audit log. Keys of the role all may run what any key may, keys that read change nothing,
// and keys that sign tokens may run nothing.
func TestCatalogue(t *testing.T) {
	names, actions := map[string]bool{}, map[people.Action]bool{}
	for _, o := range All() {
		if subject, verb, ok := strings.Cut(o.Name, "."); !ok || subject == "" || verb == "" || names[o.Name] {
			t.Errorf("%q is no name, or given twice", o.Name)
		}
		names[o.Name] = true
		if o.Right == nil && o.Keys == nil && o.Action == "" {
			t.Errorf("%s: no caller may run it", o.Name)
		}
		if o.Did == "" || o.Action != "" && (actions[o.Action] || Did(o.Action) != o.Did) {
			t.Errorf("%s: not described, or %q is given twice", o.Name, o.Action)
		}
		actions[o.Action] = true
		if o.Keys != nil && o.Keys[0] != auth.RoleAll || slices.Contains(o.Keys, auth.RoleTokens) {
			t.Errorf("%s: permitted to the keys %v", o.Name, o.Keys)
		}
		if o.Effect != Reads && slices.Contains(o.Keys, auth.RoleRead) {
			t.Errorf("%s: keys that read may change", o.Name)
		}
	}
	if Did("x.y") != "x.y" {
		t.Error("an action of a later version is described by its name")
	}
}

func TestRequire_NamesTheRolesThatMay(t *testing.T) {
	for role, want := range map[people.Role]string{
		people.Viewer: "your role is viewer, which does not permit to change programs; ask a member with the role owner or manager",
		"":            "you are not a member of this tenant, which does not permit to change programs; ask a member with the role owner or manager",
	} {
		err := ChangeProgram.Require(people.Caller{Role: role})
		var known *core.Error
		if !errors.As(err, &known) || known.Code != core.CodeForbidden || known.Message != want {
			t.Errorf("%q: %v", role, err)
		}
	}
}

func TestRequireKey_NamesTheRolesThatMay(t *testing.T) {
	err := ReadReferrals.RequireKey(auth.RoleEvents, "GET /users")
	var known *core.Error
	if !errors.As(err, &known) || known.Code != core.CodeForbidden ||
		message(err) != "API key: has the role events, which does not permit GET /users; use a key with the role all or read" {
		t.Error(err)
	}
}

func TestRequire_KeysAndPasswords(t *testing.T) {
	const elsewhere = "API key: belongs to a test tenant, whose members are those of demo; use an API key of demo"
	key, test := people.KeyHolder("demo", "checkout", ""), people.KeyHolder("test_demo", "checkout", "")
	refused := "your role is viewer, which does not permit to invite and remove members, change roles; ask a member with the role owner"
	for _, c := range []struct {
		caller people.Caller
		op     *Operation
		want   string
	}{
		{key, ReadMembers, ""},
		{key, InviteMember, ""},
		{test, ReadAudit, ""},
		{test, ChangeWebsite, ""},
		{test, ReadMembers, elsewhere},
		{test, InviteMember, elsewhere},
		{people.Caller{Role: people.Owner, Tenant: "test_demo"}, RemoveMember, ""},
		{people.Caller{Role: people.Owner}, InviteMember, message(people.NotConfirmed())},
		{people.Caller{Role: people.Owner, Confirmed: true}, InviteMember, ""},
		{people.Caller{Role: people.Viewer}, InviteMember, refused},
	} {
		if got := message(c.op.Require(c.caller)); got != c.want {
			t.Errorf("%+v, %s: %s", c.caller, c.op.Name, got)
		}
	}
}
