package e2e

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"

	"kith/core/auth"
)

// createKey creates a key with the command line and returns its header.
func (s *site) createKey(t testing.TB, tenant, name string, role auth.Role, args ...string) string {
	t.Helper()
	return s.keyHeader(t, append([]string{"create", tenant, "--name", name, "--role", string(role)}, args...)...)
}

// rotateKey gives a key a new secret with the command line and returns its header.
func (s *site) rotateKey(t testing.TB, tenant, name, overlap string) string {
	t.Helper()
	return s.keyHeader(t, "rotate", tenant, name, "--overlap", overlap)
}

func (s *site) keyHeader(t testing.TB, args ...string) string {
	t.Helper()
	return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(":"+s.key(t, args...)))
}

// key runs `kith key` and returns its output.
func (s *site) key(t testing.TB, args ...string) string {
	t.Helper()
	out, errOut, status := s.run(t, nil, append([]string{"key"}, args...)...)
	require.Zero(t, status, errOut)
	return strings.TrimSpace(out)
}

// permitted returns the roles of keys that may make each call, or select each field, of a file
// that a test in its folder compares with the program.
func permitted(t testing.TB, folder string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "backend", folder, "testdata", "roles.txt"))
	require.NoError(t, err)
	all := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		call, roles, ok := strings.Cut(line, ": ")
		require.True(t, ok, line)
		all[call] = strings.Fields(roles)
	}
	require.Greater(t, len(all), 70)
	return all
}

// fields returns a document for each top-level GraphQL field that selects it with its required
// arguments.
func fields(t testing.TB) map[string]string {
	t.Helper()
	all := map[string]string{}
	text, err := os.ReadFile(filepath.Join(root, "backend", "graphql", "schema.graphql"))
	require.NoError(t, err)
	schema, err := gqlparser.LoadSchema(&ast.Source{Input: string(text)})
	require.NoError(t, err)
	for _, kind := range []*ast.Definition{schema.Query, schema.Mutation} {
		for _, f := range kind.Fields {
			if strings.HasPrefix(f.Name, "__") {
				continue
			}
			all[kind.Name+"."+f.Name] = strings.ToLower(kind.Name) + "{" + asked(schema, f) + "}"
		}
	}
	require.Greater(t, len(all), 35)
	return all
}

// asked returns a selection of a field with its required arguments.
func asked(schema *ast.Schema, f *ast.FieldDefinition) string {
	var given []string
	for _, a := range f.Arguments {
		if a.Type.NonNull && a.DefaultValue == nil {
			given = append(given, a.Name+":"+example(schema, a.Type))
		}
	}
	text := f.Name
	if len(given) > 0 {
		text += "(" + strings.Join(given, ",") + ")"
	}
	if schema.Types[f.Type.Name()].IsCompositeType() {
		text += "{__typename}"
	}
	return text
}

// scalars has literals of the scalars that do not accept any text.
var scalars = map[string]string{
	"Int": "1", "Long": "1", "RSDate": "1", "Boolean": "false", "RSShallowMap": "{}", "JobType": `"USER"`, "RSLocale": `"en_US"`,
	"RSCountryCode": `"US"`, "RSCurrencyCode": `"USD"`, "IsoDuration": `"P1D"`,
}

// example returns a literal of a type.
func example(schema *ast.Schema, of *ast.Type) string {
	def := schema.Types[of.Name()]
	switch {
	case of.Elem != nil:
		return "[]"
	case def.Kind == ast.Enum:
		return def.EnumValues[0].Name
	case def.Kind == ast.InputObject:
		var given []string
		for _, f := range def.Fields {
			if f.Type.NonNull && f.DefaultValue == nil {
				given = append(given, f.Name+":"+example(schema, f.Type))
			}
		}
		return "{" + strings.Join(given, ",") + "}"
	}
	if text, ok := scalars[def.Name]; ok {
		return text
	}
	return `"none"`
}

var parameter = regexp.MustCompile(`\{[a-zA-Z]+\}`)

// For every call, top-level field and role of a key, at edge and backend: what the role does not
// permit is refused with the role and the way out; all else is not refused.
func TestKeys_RolesPermitWhatTheTableSays(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	s.serve(t)
	s.serveEdge(t)
	s.identify(t, s.backend, "demo", "anna", `{"referralCode":"ANNA10"}`)
	rest, selectable, graph := permitted(t, "api"), permitted(t, "graphql"), fields(t)
	for _, role := range auth.Roles() {
		header := s.createKey(t, "demo", "walk-"+string(role), role)
		// A call cannot revoke its own key.
		for _, base := range []string{s.edge, s.backend} {
			refused := func(call string, roles []string, a answer) {
				want := `"message":"API key: has the role ` + string(role) + `, which does not permit ` + call + `; use a key with the role ` + strings.Join(roles, " or ")
				if slices.Contains(roles, string(role)) {
					require.NotContains(t, a.body, "API key: has the role", "%s of %s", call, role)
					return
				}
				require.Equal(t, http.StatusForbidden, a.status, "%s of %s: %s", call, role, a.body)
				require.Contains(t, a.body, want)
				require.Contains(t, a.body, `"apiErrorCode":"FORBIDDEN"`)
			}
			for name, roles := range rest {
				method, path, _ := strings.Cut(name, " ")
				a, err := call(method, base+"/api/v1/demo"+parameter.ReplaceAllString(path, "none"), `{}`, header, "Content-Type: application/json")
				require.NoError(t, err)
				refused(name, roles, a)
			}
			for name, document := range graph {
				if !slices.Contains(rest["POST /graphql"], string(role)) {
					continue // this call is always refused
				}
				body, err := json.Marshal(map[string]string{"query": document})
				require.NoError(t, err)
				a, err := call("POST", base+"/api/v1/demo/graphql", string(body), header, "Content-Type: application/json")
				require.NoError(t, err)
				require.NotEmpty(t, selectable[name], name)
				refused(name, selectable[name], a)
			}
		}
	}
}

// The calls of a role work, at edge and backend; fields that lead to other data do not.
func TestKeys_RolesAreOfUse(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	s.serve(t)
	s.serveEdge(t)
	const json = "Content-Type: application/json"
	s.identify(t, s.backend, "demo", "anna", `{"referralCode":"ANNA10"}`)
	export := decode[struct{ ID string }](t, mustCall(t, http.StatusCreated, "POST", s.backend+"/api/v1/demo/export", `{"type":"USER"}`, s.auth("demo"), json)).ID
	events, read := s.createKey(t, "demo", "shop", auth.RoleEvents), s.createKey(t, "demo", "audit", auth.RoleRead)
	importKey := s.key(t, "create", "demo", "--name", "crm", "--role", "import")
	importer := "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(":"+importKey))
	for i, base := range []string{s.edge, s.backend} {
		api := base + "/api/v1/demo"
		user := fmt.Sprintf("ben%d", i)
		mustCall(t, http.StatusOK, "PUT", api+"/open/account/"+user+"/user/"+user, `{}`, events, json)
		for range 2 {
			mustCall(t, http.StatusOK, "POST", api+"/open/account/"+user+"/user/"+user+"/events", `{"events":[{"key":"visit"}]}`, events, json)
			mustCall(t, http.StatusOK, "GET", api+"/code/ANNA10", "", events)
			mustCall(t, http.StatusOK, "GET", api+"/code/ANNA10", "", read)
			mustCall(t, http.StatusForbidden, "GET", api+"/code/ANNA10", "", importer)
			mustCall(t, http.StatusForbidden, "POST", api+"/open/account/"+user+"/user/"+user+"/events", `{"events":[{"key":"visit"}]}`, read, json)
		}
		upsert := `{"query":"mutation { upsertUser(userInput: {id: \"%s\", accountId: \"%s\"}) { id %s } }"}`
		mustCall(t, http.StatusOK, "POST", api+"/graphql", fmt.Sprintf(upsert, user, user, "referredBy { code }"), events, json)
		a := mustCall(t, http.StatusForbidden, "POST", api+"/graphql", fmt.Sprintf(upsert, user, user, "referrals { totalCount }"), events, json)
		require.Contains(t, a.body, "does not permit User.referrals")
		a = mustCall(t, http.StatusOK, "POST", api+"/graphql", `{"query":"{ users { totalCount data { id referrals { totalCount } } } }"}`, read, json)
		require.NotContains(t, a.body, "errors")
		a = mustCall(t, http.StatusForbidden, "POST", api+"/graphql", `{"query":"{ users { data { widget { template } } } }"}`, read, json)
		require.Contains(t, a.body, "does not permit User.widget")

		// A key for imports cannot read exports.
		mustCall(t, http.StatusNotFound, "GET", api+"/export/"+export+"/download?file=result", "", importer)
		mustCall(t, http.StatusOK, "GET", api+"/export/"+export+"/download?file=result", "", read)
		a = mustCall(t, http.StatusOK, "POST", api+"/graphql", `{"query":"{ jobs { totalCount } job(id: \"`+export+`\") { downloadUrl(publicLink: true) } }"}`, importer, json)
		require.Contains(t, a.body, `"job":null`, a.body)
		for _, query := range []string{`mutation { createJob(jobInput: {type: \"QUERY/USER\"}) { id } }`, `{ validateJobCreation(jobInput: {type: \"QUERY/USER\"}) { errors } }`} {
			a = mustCall(t, http.StatusOK, "POST", api+"/graphql", `{"query":"`+query+`"}`, importer, json)
			require.Contains(t, a.body, "does not permit Mutation.createJob exports", a.body)
		}

		file := filepath.Join(t.TempDir(), "users.csv")
		require.NoError(t, os.WriteFile(file, []byte("id,accountId,firstName\ncarl,carl,Carl\n"), 0o600))
		out, errOut, status := s.run(t, nil, "import", file, "--url", base, "--tenant", "demo", "--key", importKey, "--type", "MUTATION/USER", "--result", file+".result")
		require.Zero(t, status, out+errOut)
		require.Contains(t, out, "1 row imported, 0 failed")
	}
}

// A rotated key has two secrets during the overlap, and a revoked key none, on all edges
// with their own replicas.
func TestKeys_RotateAndRevokeReachEveryEdge(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.identify(t, "anna", `{"referralCode":"ANNA10"}`)
	f.cluster.WaitForSync(t)
	s := f.nodes[0]
	lookUp := func(status int, header string) {
		t.Helper()
		for _, base := range f.bases() {
			eventually(t, status, "GET", f.api(base)+"/code/ANNA10", "", header)
		}
	}
	first := s.createKey(t, f.tenant, "checkout", auth.RoleEvents)
	lookUp(http.StatusOK, first)
	second := s.rotateKey(t, f.tenant, "checkout", "1h")
	lookUp(http.StatusOK, second)
	lookUp(http.StatusOK, first)
	third := s.rotateKey(t, f.tenant, "checkout", "0")
	lookUp(http.StatusOK, third)
	lookUp(http.StatusUnauthorized, first)
	lookUp(http.StatusUnauthorized, second)
	require.Contains(t, s.key(t, "list", f.tenant), "checkout  events")
	s.key(t, "revoke", f.tenant, "checkout")
	// A backend reads the primary, so it refuses at once.
	for _, node := range f.nodes {
		mustCall(t, http.StatusUnauthorized, "GET", f.api(node.backend)+"/code/ANNA10", "", third)
	}
	lookUp(http.StatusUnauthorized, third)
	lookUp(http.StatusOK, f.auth())

	_, errOut, status := s.run(t, nil, "key", "revoke", f.tenant, "default")
	require.Equal(t, 1, status)
	require.Contains(t, errOut, "is the last one with the role all")
	s.key(t, "revoke", f.tenant, "default", "--last")
	lookUp(http.StatusUnauthorized, f.auth())
}

// User tokens are signed with a separate key, which rotates with an overlap; tokens signed
// by an API key are valid while the tenant accepts them.
func TestKeys_TokensHaveTheirOwn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	out := s.ok(t, "tenant", "create", "demo", "--landing-url", "https://shop.example/")
	words := strings.Fields(out)
	apiKey, tokenKey := words[len(words)-5], words[len(words)-4]
	s.keys["demo"] = apiKey
	s.serve(t)
	s.serveEdge(t)
	s.identify(t, s.backend, "demo", "anna", `{"referralCode":"ANNA10"}`)
	send := func(status int, key string) {
		t.Helper()
		header := "Authorization: Bearer " + signToken(t, key, "anna")
		for _, base := range []string{s.edge, s.backend} {
			mustCall(t, status, "POST", base+"/api/v1/demo/open/account/anna/user/anna/events", `{"events":[{"key":"visit"}]}`, header)
		}
	}
	send(http.StatusOK, apiKey)
	send(http.StatusOK, tokenKey)
	for _, base := range []string{s.edge, s.backend} {
		header := "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(":"+tokenKey))
		a := mustCall(t, http.StatusForbidden, "GET", base+"/api/v1/demo/code/ANNA10", "", header)
		require.Contains(t, a.body, "has the role tokens")
	}
	for _, role := range []string{"read", "events", "import"} {
		send(http.StatusUnauthorized, s.key(t, "create", "demo", "--name", role, "--role", role))
	}
	require.Contains(t, s.ok(t, "tenant", "show", "demo"), "api-key-tokens   on\n")
	require.Contains(t, s.ok(t, "tenant", "set", "demo", "--api-key-tokens", "off"), "api-key-tokens   off\n")
	send(http.StatusUnauthorized, apiKey)
	send(http.StatusOK, tokenKey)

	second := s.key(t, "rotate", "demo", "tokens", "--overlap", "1h")
	require.True(t, strings.HasPrefix(second, "TOKEN_LIVE_"), second)
	send(http.StatusOK, tokenKey)
	send(http.StatusOK, second)
	third := s.key(t, "rotate", "demo", "tokens", "--overlap", "0")
	send(http.StatusUnauthorized, tokenKey)
	send(http.StatusUnauthorized, second)
	send(http.StatusOK, third)
	send(http.StatusUnauthorized, "")
	// kith token signs with the newest key, and fails without one.
	mustCall(t, http.StatusOK, "GET", s.backend+"/api/v1/demo/open/account/anna/user/anna", "", "Authorization: Bearer "+s.token(t, "anna"))
	s.key(t, "revoke", "demo", "tokens")
	send(http.StatusUnauthorized, third)
	require.Contains(t, s.refused(t, "token", "--tenant", "demo", "--account", "anna", "--user", "anna"), "no key that signs user tokens")
	s.ok(t, "tenant", "set", "demo", "--api-key-tokens", "on")
	send(http.StatusOK, apiKey)
}

// signToken signs a user token as a shop's server does.
func signToken(t testing.TB, key, id string) string {
	t.Helper()
	return signClaims(key, fmt.Sprintf(`{"user":{"id":"%s","accountId":"%s"},"exp":%d}`, id, id, time.Now().Add(time.Hour).Unix()))
}

// signClaims returns a token with the given claims, a JSON object.
func signClaims(key, claims string) string {
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + encode([]byte(claims))
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(signed))
	return signed + "." + encode(mac.Sum(nil))
}

// The last use of a key is recorded, also when only an edge handled the call.
func TestKeys_LastUse(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	began := time.Now()
	backend := s.serve(t)
	s.serveEdge(t)
	s.identify(t, s.backend, "demo", "anna", `{}`)
	shop, audit := s.createKey(t, "demo", "shop", auth.RoleEvents), s.createKey(t, "demo", "audit", auth.RoleRead)
	s.createKey(t, "demo", "unused", auth.RoleRead)
	mustCall(t, http.StatusOK, "POST", s.edge+"/api/v1/demo/open/account/anna/user/anna/events", `{"events":[{"key":"visit"}]}`, shop)
	mustCall(t, http.StatusOK, "GET", s.backend+"/api/v1/demo/users", "", audit)
	used := func() (names []string) {
		t.Helper()
		list := decode[struct {
			Keys []struct {
				Name         string
				DateLastUsed int64
			}
		}](t, mustCall(t, http.StatusOK, "GET", s.backend+"/api/v1/demo/keys", "", s.auth("demo")))
		for _, k := range list.Keys {
			if k.DateLastUsed > 0 {
				require.GreaterOrEqual(t, k.DateLastUsed, began.UnixMilli())
				require.LessOrEqual(t, k.DateLastUsed, time.Now().UnixMilli())
				names = append(names, k.Name)
			}
		}
		return names
	}
	waitProcessed(t, s.open(t))
	await(t, func() error {
		if names := used(); !slices.Contains(names, "audit") || !slices.Contains(names, "default") || !slices.Contains(names, "shop") || len(names) != 3 {
			return fmt.Errorf("used are %q", names)
		}
		return nil
	})
	// A process stores the uses of keys when it stops.
	backend.stop(t)
	require.Regexp(t, `(?m)^audit .* used 20.*$`, s.key(t, "list", "demo"))
	require.Regexp(t, `(?m)^unused .* never used .*$`, s.key(t, "list", "demo"))
	// Many uses cause few writes.
	s.serve(t)
	db := s.open(t)
	require.Equal(t, 1, number(t, db, `SELECT count(*) FROM api_key WHERE name = 'audit' AND used_at IS NOT NULL`))
	written, reading := map[int]bool{}, time.Now()
	for range 50 {
		mustCall(t, http.StatusOK, "GET", s.backend+"/api/v1/demo/users", "", audit)
		written[number(t, db, `SELECT used_at FROM api_key WHERE name = 'audit'`)] = true
	}
	// The first write was before; a process writes when it starts and every minute.
	require.LessOrEqual(t, len(written), 3+int(time.Since(reading)/time.Minute))
}

// A key that expires is valid until then, and not longer.
func TestKeys_Expire(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	s.serve(t)
	s.serveEdge(t)
	s.identify(t, s.backend, "demo", "anna", `{"referralCode":"ANNA10"}`)
	header := s.createKey(t, "demo", "brief", auth.RoleRead, "--expires", "1h")
	for _, base := range []string{s.edge, s.backend} {
		mustCall(t, http.StatusOK, "GET", base+"/api/v1/demo/code/ANNA10", "", header)
	}
	_, err := s.open(t).Exec(`UPDATE api_key SET expires_at = ? WHERE name = 'brief'`, time.Now().UnixMilli())
	require.NoError(t, err)
	for _, base := range []string{s.edge, s.backend} {
		eventually(t, http.StatusUnauthorized, "GET", base+"/api/v1/demo/code/ANNA10", "", header)
	}
	require.Contains(t, s.key(t, "list", "demo"), "expired ")
}
