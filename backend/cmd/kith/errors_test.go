package main

import (
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The exit status is 2 for an invalid command line, and 1 for a command that failed.
func TestErrors(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	for _, alias := range []string{"demo", "other"} {
		var out, errOut strings.Builder
		require.Zero(t, run([]string{"tenant", "create", alias, "--landing-url", "https://" + alias + ".example/", "--data", data}, &out, &errOut), &errOut)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	taken := listener.Addr().String()
	for _, test := range []struct {
		name, args string
		status     int
		says       string
	}{
		{"no such command", "fly", 2, "fly"},
		{"no such flag", "serve --fast", 2, "--fast"},
		{"a flag is missing", "tenant create acme", 2, "--landing-url"},
		{"an argument is missing", "tenant create --landing-url https://x.example", 2, "alias"},
		{"an unknown value", "tenant create acme --landing-url https://x.example --consent maybe", 2, "opt-in"},
		{"not a number", "edge --max-body big", 2, "big"},
		{"an existing tenant", "tenant create demo --landing-url https://x.example", 1, "there is a tenant demo already"},
		{"an invalid alias", "tenant create a.b --landing-url https://x.example", 1, "alias"},
		{"an invalid landing URL", "tenant create acme --landing-url x.example", 1, "absolute http or https URL"},
		{"consent without its cookie", "tenant create acme --landing-url https://x.example --consent opt-in", 1, "consent-cookie"},
		{"programs of no tenant", "program list --tenant nobody", 1, "there is no tenant"},
		{"programs without a tenant", "program list", 2, "--tenant"},
		{"a program that is not there", "program show spring --tenant demo", 1, "there is no such program"},
		{"a program that is there", "api POST /programs --tenant demo id=classic sharing.url=https://x.example", 1, "there is a program classic already"},
		{"the last program", "api DELETE /programs/classic --tenant demo", 1, "the last program of a tenant cannot be deleted"},
		{"an invalid landing page", "program set classic --tenant demo sharing.url=x", 1, "sharing.url: must be an absolute"},
		{"a discount above 100%", "program set classic --tenant demo rewards.referred.discountPercent=101", 1, "rewards.referred.discountPercent: must be a percentage from 0 to 100"},
		{"a setting that is none", "program set classic --tenant demo fraud.smell=DENY", 1, "fraud.smell: is not a key"},
		{"a setting without a value", "program set classic --tenant demo name", 1, "name: must be NAME=VALUE"},
		{"no setting", "program set classic --tenant demo", 2, "setting"},
		{"a program of another key", "program set classic --tenant demo id=spring", 1, "id: must be the one in the path"},
		{"a file that is not there", "program apply --tenant demo /nowhere", 1, "/nowhere"},
		{"a file that is no program", "program apply --tenant demo /dev/null", 1, "JSON"},
		{"a method that is none", "api PATCH /programs --tenant demo", 1, "method: must be GET, POST, PUT or DELETE"},
		{"a path without a slash", "api GET programs --tenant demo", 1, "path: must begin with /"},
		{"a path that is none", "api GET /program --tenant demo", 1, "did you mean /api/v1/demo/programs?"},
		{"a path with a wrong letter", "api GET /programz --tenant demo", 1, "did you mean /api/v1/demo/programs?"},
		{"a path with two letters exchanged", "api GET /refrerals --tenant demo", 1, "did you mean /api/v1/demo/referrals?"},
		{"a path with a name left", "api GET /programs/{program} --tenant demo", 1, "path: /programs/{program} has a {NAME} that no field gives"},
		{"a call of no tenant", "api GET /programs --tenant nobody", 1, "there is no tenant"},
		{"a call of a service without a key", "api GET /programs --tenant demo --url http://127.0.0.1:1", 1, "key: is required with --url"},
		{"a call of no service", "api GET /programs --tenant demo --key x --url http://127.0.0.1:1", 1, "url: no service answers there; start kith serve, or give its URL (KITH_URL): Get "},
		{"a value that is not there", "api GET /programs --tenant demo --value secret", 1, "the call was made; its answer, above, has no secret"},
		{"columns of what is no list", "api GET /programs/classic --tenant demo --columns id", 1, "its answer, above, has no list"},
		{"a column that is not there", "api GET /programs --tenant demo --columns id,nope", 1, "its answer, above, has no column nope"},
		{"a parameter that is not there", "api GET /users --tenant demo limits=3", 1, "limits: is no parameter of GET /users; it has: "},
		{"a body that is missing", "api POST /programs --tenant demo", 1, "field: give the body as fields NAME=VALUE or by --input FILE"},
		{"fields for a file", "api POST /export/upload --tenant demo file=csv", 1, "this call takes a file: kith import"},
		{"a number for a text", "api PUT /open/account/a/user/a --tenant demo firstName=42", 1, `firstName: must be a string; '"42"' is the text 42`},
		{"a query of GraphQL that is wrong", "api POST /graphql --tenant demo query={nope}", 1, "Cannot query field"},
		{"a key without a service", "api GET /programs --tenant demo --key x", 1, "key: needs --url (KITH_URL)"},
		{"all of a change", "api DELETE /programs/classic --tenant demo --all", 1, "all: is for GET"},
		{"a body of a call that has none", "api POST /subscription/x/test --tenant demo a=b", 1, "takes no body"},
		{"an object where a text is", "program set classic --tenant demo name.x=1", 1, "x: would be in a value that is no object"},
		{"a list where a text is", "program set classic --tenant demo name[]=1", 1, "name[]: has a value that is no list"},
		{"a field that is no UTF-8", "api PUT /programs/classic --tenant demo name=M\xfcller", 1, "name: must be UTF-8"},
		{"the standard input twice, for a program", "program set classic --tenant demo name=@- sharing.url=@-", 1, "sharing.url: the standard input can be read once only"},
		{"the standard input twice", "api PUT /programs/classic --tenant demo name=@- id=@-", 1, "the standard input can be read once only"},
		{"all of what is no list", "api GET /programs/classic --tenant demo --all", 1, "all: is for lists"},
		{"settings of no tenant", "tenant show nobody", 1, "no tenant"},
		{"a switch that is none", "tenant set demo --secure-mode fly=open", 1, "upsert-user"},
		{"a mode that is none", "tenant set demo --secure-mode get-widget=shut", 1, "signed, open, disabled"},
		{"a payment that is none", "tenant set demo --browser-payment all", 1, "browser-payment"},
		{"a consent that is none", "tenant set demo --consent maybe", 1, "opt-out"},
		{"an origin with a path", "tenant set demo --share-origin https://x.example/y", 1, "share-origin"},
		{"a token of an unknown tenant", "token --tenant missing --account a --user b", 1, "no tenant"},
		{"a token without an account", "token --tenant demo --account null --user b", 1, "account"},
		{"an address in use", "serve --backend-addr " + taken, 1, "KITH_BACKEND_ADDR"},
		{"an address that is none", "serve --backend-addr nowhere", 1, "nowhere"},
		{"a port that is none", "serve --backend-addr 127.0.0.1:http", 1, `backend-addr: must be HOST:PORT with a port from 0 to 65535, such as 127.0.0.1:8080, not "127.0.0.1:http"`},
		{"a port that is too high", "edge --edge-addr 127.0.0.1:70000", 1, `edge-addr: must be HOST:PORT`},
		{"a port of probes that is none", "serve --backend-addr 127.0.0.1:0 --ops-addr 9090", 1, `ops-addr: must be HOST:PORT`},
		{"an address of another machine", "serve --backend-addr 192.0.2.1:80", 1, "backend-addr: must be an address of this machine; correct KITH_BACKEND_ADDR"},
		{"an address of probes in use", "serve --backend-addr 127.0.0.1:0 --ops-addr " + taken, 1, "ops-addr: another kith or another program listens there; stop it, or choose another address by KITH_OPS_ADDR"},
		{"a folder that cannot be made", "serve --data /proc/kith", 1, "data folder: mkdir /proc/kith: no such file or directory; create it"},
		{"a file for a folder", "serve --data /dev/null", 1, "data folder: mkdir /dev/null: not a directory; create it"},
		{"files below a file", "serve --files " + data + "/kith.db/x", 1, "files: " + data + "/kith.db/x cannot be written: stat " + data + "/kith.db/x: not a directory; create it for the user that runs kith, or give another folder, or the URL of a bucket, by KITH_FILES"},
		{"a server that is away", "serve --database-url ws://127.0.0.1:1", 1, "start the server, or correct KITH_DATABASE_URL and KITH_DATABASE_TOKEN"},
		{"a key for SFTP that is none", "serve --backend-addr 127.0.0.1:0 --sftp-addr 127.0.0.1:0 --sftp-host-key /dev/null", 1, "sftp-host-key: /dev/null is not a private key"},
		{"a public URL that is none", "serve --public-url shop", 1, "public-url: must be an origin, such as https://go.example"},
		{"a public URL with a path", "serve --public-url https://go.example/shop", 1, "public-url: must be an origin, such as https://go.example"},
		{"a clock tolerance that is none", "edge --clock-tolerance 1us", 1, "clock-tolerance: must be 1ms or more"},
		{"a master key that is none", "serve --master-key short", 1, "32 bytes in hex or base64"},
		{"a master key that is none, at the edge", "edge --master-key short", 1, "32 bytes in hex or base64"},
		{"a manifest that is not there", "edge --manifest /nowhere/spin.toml", 1, "/nowhere/spin.toml"},
		{"a time that edges do not keep answers", "edge --link-max-age 6m", 1, "link-max-age: must be 0s to 5m"},
		{"a file that is no manifest", "edge --manifest " + data + "/master.key", 1, "manifest: host: " + data + "/master.key: toml: "},
		{"a file that is no manifest, and what to do", "edge --manifest " + data + "/master.key", 1, "; give the Spin manifest of Kith's component by KITH_MANIFEST, or leave it out for the one in this binary"},
		{"a database without a host", "serve --database-url http://", 1, "the URL of a database has a host, as in http://127.0.0.1:8080; give file:PATH or the URL of a libSQL server by KITH_DATABASE_URL"},
		{"a collector with a port that is none", "serve --trace-endpoint http://127.0.0.1:65536", 1, "trace-endpoint: must have a port of at most 65535"},
		{"a number of backups that is none, without a folder", "serve --backup-keep=-1", 1, "backup-keep: must be 1 or more"},
		{"an interval of backups that is none, without a folder", "serve --backup-every 1ms", 1, "backup-every: must be 1s or more"},
		{"a key that ends at once", "key create demo --name x --role all --expires 0.5ms", 1, "expires: must be 1ms or more, or 0 for a key without end"},
		{"a database of no kind", "serve --database-url mysql://x", 1, "mysql"},
		{"a backend URL that is none", "edge --backend-url nowhere", 1, "nowhere"},
		{"a host with a scheme", "tenant create acme --landing-url https://x.example --allow-host https://a.example", 1, "allow-host: must be a host such as"},
		{"a path that has no such method", "api POST /rewards --tenant demo", 1, "this path does not exist"},
		{"a path between two", "api GET /userz --tenant demo", 1, "did you mean /api/v1/demo/users?"},
		{"a call without a tenant", "api GET /programs", 1, "tenant: is required"},
		{"an edge on two addresses that are one", "edge --edge-addr 127.0.0.1:1 --ops-addr 127.0.0.1:1", 1, "ops-addr: must not be the address of edge-addr: give another one by KITH_OPS_ADDR"},
		{"an address for Spin that is none", "spin --edge-addr foo", 1, "edge-addr: must be HOST:PORT"},
		{"a URL for the address of probes", "health --ops-addr http://127.0.0.1:1", 1, "ops-addr: must be HOST:PORT"},
		{"a URL of a service that is none", "api GET /programs --tenant demo --key x --url foo", 1, `url: must be an absolute http or https URL, not "foo"`},
		{"an import to a URL that is none", "import /dev/null --type MUTATION/USER --tenant demo --key x --url 127.0.0.1:8080", 2, "url: must be an absolute http or https URL"},
		{"results in no folder", "import /dev/null --type MUTATION/USER --tenant demo --key x --result /nowhere/x.csv", 2, "result: there is no folder /nowhere"},
		{"errors in no folder", "import /dev/null --type MUTATION/USER --tenant demo --key x --errors /nowhere/x.csv", 2, "errors: there is no folder /nowhere"},
		{"a first row below 0", "sample --type MUTATION/USER --from=-5", 1, "from: must be 0 or more"},
		{"rows below 0", "sample --type MUTATION/USER --rows=-1", 1, "rows: must be 0 or more"},
		{"a port of an origin that is too high", "tenant origin add demo https://x.example:65536", 1, "origin: must have a port of at most 65535"},
		{"the file of the database, for a backup", "backup " + data + "/kith.db", 1, "file: " + data + "/kith.db is a file of kith itself; give another name"},
		{"the log of the database, for an export", "tenant export demo " + data + "/../data/kith.db-wal", 1, "is a file of kith itself"},
		{"the next master key, for a backup", "backup " + data + "/master.key.new", 1, "is a file of kith itself"},
		{"a backend URL with a path", "edge --backend-url http://127.0.0.1:1/x", 1, "backend-url: must be an origin"},
		{"a backend URL with a path, of doctor", "doctor --backend-url http://127.0.0.1:1/x", 1, "backend-url: must be an origin"},
	} {
		args := strings.Fields(test.args)
		if !slices.Contains(args, "--data") && !slices.Contains([]string{"health", "import", "sample"}, args[0]) {
			args = append(args, "--data", data)
		}
		var out, errOut strings.Builder
		require.Equal(t, test.status, run(args, &out, &errOut), "%s: %s%s", test.name, &out, &errOut)
		require.Contains(t, errOut.String(), test.says, test.name)
		require.Contains(t, errOut.String(), "kith: ", test.name)
	}
}

// A wrong value makes no folder, database or key.
func TestErrors_makeNothing(t *testing.T) {
	t.Parallel()
	for _, args := range []string{
		"serve --backend-addr nowhere", "serve --backend-addr 192.0.2.1:80", "serve --ops-addr 9090", "serve --sftp-addr 22", "serve --demo-url shop",
		"serve --job-workers=-1", "serve --job-lease 1ms", "serve --max-file 0", "serve --files foo://x", "serve --files /dev/null", "serve --files /dev/null/x", "sftp --files /dev/null/x", "serve --master-key-new short", "dev --edge-addr 127.0.0.1:1 --lab-addr 127.0.0.1:1", "serve --trusted-proxies x",
		"serve --clock-tolerance 1us", "serve --sftp-host-key /nowhere", "serve --master-key short", "serve --portal-url https://x.example/y",
		"serve --max-connections 18446744073709551615", "dev --edge-addr nowhere", "dev --max-body 0", "dev --edge-timeout 0s", "dev --lab-addr nowhere",
		"sftp --sftp-addr off", "sftp --max-storage 0", "edge --edge-addr nowhere", "edge --write-timeout 0s", "edge --master-key short",
		"tenant create a.b --landing-url https://x.example", "tenant create acme --landing-url x", "tenant create acme --landing-url https://x.example --allow-host https://a",
		"restore /nowhere", "restore /dev/null",
	} {
		data := filepath.Join(t.TempDir(), "data")
		var out, errOut strings.Builder
		require.NotZero(t, run(append(strings.Fields(args), "--data", data), &out, &errOut), args)
		require.NoDirExists(t, data, "%s: %s", args, &errOut)
	}
}
