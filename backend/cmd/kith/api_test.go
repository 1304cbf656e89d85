package main

import (
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"kith/backend/api"
	"kith/backend/portal/portaltest"
	"kith/core/auth"
)

// A call on the database has the answer of a service, and is the operator's. A field is a part
// of the path, a parameter or a value of the body.
func TestAPI_Calls(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	requireKith(t, "tenant", "create", "acme", "--landing-url", "https://acme.example/", "--data", data)
	kith := func(args ...string) string {
		return requireKith(t, append([]string{"api", "--tenant", "acme", "--data", data}, args...)...)
	}
	write := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	for _, id := range []string{"anna", "ben", "carl", "dora", "7"} {
		made := kith("put", "/open/account/{account}/user/{user}", "account="+id, "user="+id, "firstName=User "+id, "customFields.vip=true", "customFields.plan=pro", "customFields.seats=3", `customFields.zip="00501"`, "segments[]=a", "segments[]=b")
		require.JSONEq(t, `{"vip":true,"plan":"pro","seats":3,"zip":"00501"}`, gjson.Get(made, "customFields").Raw)
		require.JSONEq(t, `["a","b"]`, gjson.Get(made, "segments").Raw)
	}
	require.Equal(t, "2", gjson.Get(kith("GET", "/users", "limit=2"), "count").String())
	require.Equal(t, "2", gjson.Get(kith("GET", "/users?limit=2"), "count").String())
	all := kith("GET", "/users", "limit=2", "--all")
	require.Equal(t, "5", gjson.Get(all, "users.#").String())
	require.ElementsMatch(t, []string{"anna", "ben", "carl", "dora", "7"}, texts(gjson.Get(all, "users.#.id")))
	require.Equal(t, "3", gjson.Get(kith("GET", "/users", "limit=1", "offset=2", "--all"), "users.#").String())
	require.Equal(t, "id    customFields.zip\nanna  00501\n", kith("GET", "/users", "query=anna", "--columns", "id,customFields.zip"))
	require.Equal(t, "id    referredBy.code\nanna  \n", kith("GET", "/users", "query=anna", "--columns", "id,referredBy.code"), "null in each row")
	require.Equal(t, "pro\n", kith("GET", "/open/account/ben/user/ben", "--value", "customFields.plan"))

	// Fields change the body of a file, and values come from files.
	require.Equal(t, "Benno\n", kith("PUT", "/open/account/ben/user/ben", "--input", write("ben.json", `{"firstName":"Ben","lastName":"B"}`), "firstName=@"+write("name.txt", "Benno"), "--value", "firstName"))
	require.Equal(t, "B\n", kith("GET", "/open/account/ben/user/ben", "--value", "lastName"))
	require.Equal(t, "5\n", kith("POST", "/graphql", "query=query($n: Int) { users(limit: $n) { totalCount } }", "variables.n=1", "--value", "data.users.totalCount"))

	// A call with the same key is made once, and the audit log names the operator.
	reward := []string{"POST", "/rewards/account/anna/user/anna", "type=CREDIT", "unit=CENTS", "currency=USD", "assignedCredit=500", "--header", "Idempotency-Key: reward-1042", "--value", "id"}
	require.Equal(t, kith(reward...), kith(reward...))
	require.Contains(t, kith("GET", "/audit", "--columns", "actor,action"), "command line  reward.added\n")

	// The operator gives no reason, as a caller with an API key.
	require.Equal(t, "{}\n", kith("POST", "/account/ben/user/ben/block"))

	// A text that a user typed has no power over the terminal.
	kith("PUT", "/open/account/ben/user/ben", "customFields.note=@"+write("escape.txt", "\x1b[2J\nBen <&>\u009b2J"))
	require.Equal(t, "\uFFFD[2J\nBen <&>\uFFFD2J\n", kith("GET", "/open/account/ben/user/ben", "--value", "customFields.note"))
	require.Equal(t, "customFields.note\n\uFFFD[2J Ben <&>\uFFFD2J\n", kith("GET", "/users", "query=ben", "--columns", "customFields.note"))
	require.Contains(t, kith("GET", "/open/account/ben/user/ben"), `"note": "\u001b[2J\nBen <&>\u009b2J"`)

	// An object that a field gives is changed by the next, and numbers stay as they are written.
	limits := requireKith(t, "program", "set", "classic", `limits={"rewards":5,"rewardsInPeriod":2,"period":"P1D"}`, "limits.discountPercent=20", "--tenant", "acme", "--data", data)
	require.Contains(t, limits, "at most 5 rewards")
	require.Contains(t, limits, "at most 20% together")
	require.Equal(t, "9007199254740993\n", kith("PUT", "/open/account/ben/user/ben", `customFields={"big":9007199254740993}`, "customFields.text=x", "--value", "customFields.big"))
	const settings = `{"z":"<A & B>","a":1.50}`
	requireKith(t, "program", "set", "classic", `rewards.referrer={"type":"INTEGRATION","valueInCents":2500,"integrationSettings":`+settings+`}`, "--tenant", "acme", "--data", data)
	requireKith(t, "program", "set", "classic", "name=Ours", "--tenant", "acme", "--data", data)
	require.Equal(t, settings+"\n", kith("GET", "/programs/classic", "--value", "rewards.referrer.integrationSettings"))
	_, says, status := runKith(t, "api", "--tenant", "acme", "--data", data, "PUT", "/open/account/ben/user/ben", "--input", write("twice.json", `{"firstName":"A","firstName":"B"}`), "lastName=C")
	require.Equal(t, 1, status)
	require.Contains(t, says, "input: firstName occurs twice")

	// Calls that need no credentials get them from none: they answer no ids.
	kith("PUT", "/open/account/dora/user/dora", "referralCode=DORA10")
	require.Equal(t, "\n", kith("GET", "/open/user", "referralCode=DORA10", "--value", "id"))

	// The operator's list of disposable domains counts, and the file of codes has no mark.
	require.NoError(t, os.WriteFile(filepath.Join(data, "domains.txt"), []byte("disposable.example\n"), 0o600))
	kith("PUT", "/open/account/eve/user/eve", "email=eve@disposable.example", "referredByCodes[]=DORA10", "--temp-domains", filepath.Join(data, "domains.txt"))
	require.Contains(t, kith("GET", "/referrals", "referredAccountId=eve"), `"tempEmail": {`)
	requireKith(t, "program", "set", "classic", `rewards.referred={"type":"FUELTANK","fuelTankType":"CREDIT","amount":500}`, "--tenant", "acme", "--data", data)
	kith("POST", "/programs/classic/rewards/referred/codes", "codes[]=@"+write("codes.txt", "\ufeffSAVE-1\r\n"))
	require.Equal(t, "SAVE-1", textSQL(t, "file:"+filepath.Join(data, "kith.db"), `SELECT code FROM fuel_tank`))

	// A call is described, and not made.
	require.Contains(t, kith("PUT", "/programs/classic", "--describe"), "  limits.rewardsInPeriod ")
	require.Contains(t, kith("GET", "/users", "--describe"), "  offset ")
	require.Regexp(t, `(?m)^/subscription/\{endpointUrl\} +Delete `, kith("DELETE", "--describe"))

	// What is no JSON is printed as it is.
	require.True(t, strings.HasPrefix(kith("GET", "/audit/export"), "\ufeff") || strings.Contains(kith("GET", "/audit/export"), "reward.added,"))
}

func texts(list gjson.Result) (all []string) {
	for _, item := range list.Array() {
		all = append(all, item.String())
	}
	return all
}

// With a URL the call goes to a service, with the API key and the rights of its role.
func TestAPI_AtAService(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	w.Identify(t, "anna", "anna")
	_, secret, err := w.Engine.APIKeys.Create(t.Context(), "acme", "reader", auth.RoleRead, 0)
	require.NoError(t, err)
	server := httptest.NewServer((&api.API{Engine: w.Engine, Log: slog.New(slog.DiscardHandler)}).Handler())
	t.Cleanup(server.Close)
	at := []string{"api", "--tenant", "acme", "--url", server.URL + "/", "--key", secret}
	require.Equal(t, "id\nanna\n", requireKith(t, append(at, "GET", "/users", "--all", "--columns", "id")...))
	require.Equal(t, "anna\n", requireKith(t, append(at, "GET", "/users", "fields=id", "--value", "users.0.id")...), "a parameter of all methods of the path")
	_, errOut, status := runKith(t, append(at, "DELETE", "/open/account/anna/user/anna")...)
	require.Equal(t, 1, status)
	require.Contains(t, errOut, "API key: has the role read, which does not permit DELETE")
	_, errOut, status = runKith(t, "api", "--tenant", "acme", "--url", server.URL, "--key", "wrong", "GET", "/users")
	require.Equal(t, 1, status)
	require.Contains(t, errOut, "API key")
}
