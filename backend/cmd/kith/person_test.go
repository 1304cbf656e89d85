package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/app"
	"kith/backend/app/base"
	"kith/backend/app/members"
	"kith/backend/store"
	"kith/core/auth"
	"kith/core/operation"
	"kith/core/people"
)

// docs/operate.md has the table of roles as the program has it. With -update it is
// rewritten.
func TestOperate_Roles(t *testing.T) {
	want := "| may |"
	for _, role := range people.Roles() {
		want += " " + string(role) + " |"
	}
	want += "\n|---" + strings.Repeat("|---", len(people.Roles())) + "|\n"
	for _, right := range operation.Rights() {
		want += "| " + right.Text + " |"
		for _, role := range people.Roles() {
			if slices.Contains(right.Roles, role) {
				want += " yes |"
			} else {
				want += " |"
			}
		}
		want += "\n"
	}
	requireGenerated(t, "operate.md", "TestOperate_Roles", want)
}

// docs/operations.md has the catalogue of operations. With -update it is rewritten.
func TestOperations(t *testing.T) {
	want := "| operation | what the caller did | effect | members | API keys | audit log |\n|---|---|---|---|---|---|\n"
	for _, o := range operation.All() {
		var may []people.Role
		if o.Right != nil {
			may = o.Right.Roles
		}
		want += "| " + o.Name + " | " + o.Did + " | " + string(o.Effect) + " |"
		for _, cell := range []string{listed(may), listed(o.Keys), string(o.Action)} {
			want += strings.TrimRight(" "+cell, " ") + " |"
		}
		want += "\n"
	}
	requireGenerated(t, "operations.md", "TestOperations", want)
}

func listed[T ~string](roles []T) string {
	var texts []string
	for _, r := range roles {
		texts = append(texts, string(r))
	}
	return strings.Join(texts, ", ")
}

// The operator invites the first owner, and manages members by the command line.
func TestPerson(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	requireKith(t, "tenant", "create", "acme", "--landing-url", "https://acme.example/", "--data", data)
	fails := func(says string, args ...string) {
		t.Helper()
		out, errOut, status := runKith(t, append(args, "--data", data)...)
		require.Equal(t, 1, status, args)
		require.Contains(t, errOut, says, args)
		require.Empty(t, out, args)
	}
	fails("alias: must not begin with test_: kith tenant create other makes this test tenant, too", "tenant", "create", "test_other", "--landing-url", "https://acme.example/")
	fails("there is no tenant", "person", "invite", "other", "ann@acme.example")
	fails("there is no tenant", "person", "list", "other")
	fails("email: is not an address", "person", "invite", "acme", "ann")
	fails("portal-url: must be an origin", "person", "invite", "acme", "ann@acme.example", "--portal-url", "acme")
	require.Empty(t, requireKith(t, "person", "list", "acme", "--data", data))
	link := requireKith(t, "person", "invite", "acme", "Ann@acme.example", "--data", data, "--portal-url", "https://portal.example/")
	token, ok := strings.CutPrefix(strings.TrimSpace(link), "https://portal.example/portal/invitation/")
	require.True(t, ok, link)

	keys, err := auth.ParseKeyring(storyKey)
	require.NoError(t, err)
	db, err := store.Open("file:"+filepath.Join(data, "kith.db"), "")
	require.NoError(t, err)
	defer db.Close()
	engine := app.New(base.Base{DB: db, Keys: keys, Now: now, Entropy: random})
	_, err = engine.Members.Accept(t.Context(), members.Visitor{}, token, "Ann", "correct horse battery")
	require.NoError(t, err)
	requireKith(t, "person", "invite", "acme", "ben@acme.example", "--role", "viewer", "--data", data)
	require.Regexp(t, `^ann@acme.example  owner   one-step sign-in         signed in \S+Z\nben@acme.example  viewer  invited by command line  until \S+Z\n$`, requireKith(t, "person", "list", "acme", "--data", data))
	fails("ann@acme.example is the last owner", "person", "role", "acme", "ann@acme.example", "viewer")
	fails("ann@acme.example is the last owner", "person", "remove", "acme", "ann@acme.example")
	fails("the tenant has no member carl@acme.example", "person", "role", "acme", "carl@acme.example", "viewer")
	for _, command := range []string{"role acme ben@acme.example manager", "reset-password ben@acme.example"} {
		fails("ben@acme.example has not accepted the invitation to tenant acme yet; kith person invite replaces it", append([]string{"person"}, strings.Fields(command)...)...)
	}
	require.Equal(t, "the invitation of ben@acme.example is revoked\n", requireKith(t, "person", "remove", "acme", "ben@acme.example", "--data", data))
	_, err = engine.Members.Create(t.Context(), people.OperatorOf("acme"), "carl@acme.example", "", "correct horse battery", "owner")
	require.NoError(t, err)
	require.Equal(t, "carl@acme.example is manager of tenant acme\n", requireKith(t, "person", "role", "test_acme", "carl@acme.example", "manager", "--data", data))
	require.Equal(t, "carl@acme.example is no member of tenant acme any more\n", requireKith(t, "person", "remove", "acme", "carl@acme.example", "--data", data))

	fails("no person has the address carl@acme.example", "person", "reset-password", "carl@acme.example")
	link = requireKith(t, "person", "reset-password", "ann@acme.example", "--data", data)
	token, ok = strings.CutPrefix(strings.TrimSpace(link), "http://127.0.0.1:3000/portal/reset/")
	require.True(t, ok, link)
	require.NoError(t, engine.Resets.Reset(t.Context(), members.Visitor{}, token, "another horse battery"))

	// A key of another tenant invites the same address: another person, who is recognized.
	requireKith(t, "tenant", "create", "rival", "--landing-url", "https://rival.example/", "--data", data)
	_, token, err = engine.Members.Invite(t.Context(), people.KeyHolder("rival", "crm", ""), "ann@acme.example", "viewer")
	require.NoError(t, err)
	_, err = engine.Members.Accept(t.Context(), members.Visitor{}, token, "", "a third horse battery")
	require.NoError(t, err)
	require.Regexp(t, `^ann@acme.example  viewer  one-step sign-in  signed in \S+Z  invited by API key crm\n$`, requireKith(t, "person", "list", "rival", "--data", data))
	fails("tenant: is missing: 2 people have the address ann@acme.example; give one of acme, rival", "person", "reset-password", "ann@acme.example")
	fails("ann@acme.example is no member of tenant other; give one of acme, rival", "person", "reset-password", "ann@acme.example", "--tenant", "other")
	require.NotEmpty(t, requireKith(t, "person", "reset-password", "ann@acme.example", "--tenant", "rival", "--data", data))
}
