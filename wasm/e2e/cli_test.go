package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// run runs a kith until it exits, which it must do without being stopped.
func (s *site) run(t testing.TB, env []string, args ...string) (out, errOut string, status int) {
	t.Helper()
	c := s.command(t, args...)
	c.Env = append(append(c.Env, "KITH_DATABASE_URL="+s.backendDatabase), env...)
	var o, e bytes.Buffer
	c.Stdout, c.Stderr = &o, &e
	require.NoError(t, c.Start())
	lasting := time.AfterFunc(2*deadline, func() { _ = c.Process.Kill() })
	defer lasting.Stop()
	err := c.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return o.String(), e.String(), c.ProcessState.ExitCode()
}

// token returns a user token that `kith token` printed.
func (s *site) token(t testing.TB, id string) string {
	t.Helper()
	out, errOut, status := s.run(t, nil, "token", "--tenant", "demo", "--account", id, "--user", id)
	require.Zero(t, status, errOut)
	return strings.TrimSpace(out)
}

func TestCLI_Help(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, test := range []struct {
		args []string
		says []string
	}{
		{nil, []string{"Usage: kith <command>", "dev", "serve", "edge", "tenant", "token", "version"}},
		{[]string{"--help"}, []string{"Usage: kith <command>", "dev", "serve", "edge", "tenant", "token", "version"}},
		{[]string{"dev", "--help"}, []string{"Usage: kith dev", "--edge-addr", "KITH_EDGE_ADDR", "--backend-addr", "KITH_BACKEND_ADDR", "--data", "KITH_DATA", "KITH_DATABASE_URL", "KITH_MASTER_KEY"}},
		{[]string{"gatewaylab", "--help"}, []string{"Usage: kith gatewaylab", "KITH_LAB_ADDR", "127.0.0.1:8090", "KITH_LAB_JOURNAL"}},
		{[]string{"serve", "--help"}, []string{"Usage: kith serve", "KITH_BACKEND_ADDR", "127.0.0.1:8080"}},
		{[]string{"sftp", "--help"}, []string{"Usage: kith sftp", "KITH_SFTP_ADDR", "127.0.0.1:2022", "KITH_SFTP_HOST_KEY", "KITH_MAX_FILE"}},
		{[]string{"edge", "--help"}, []string{"Usage: kith edge", "KITH_BACKEND_URL", "KITH_TRUSTED_PROXIES", "KITH_MAX_BODY", "127.0.0.1:3000"}},
		{[]string{"spin", "--help"}, []string{"Usage: kith spin", "KITH_BACKEND_URL", "KITH_EDGE_ADDR", "127.0.0.1:3000"}},
		{[]string{"tenant", "--help"}, []string{"create", "show", "set", "origin", "sftp-key"}},
		{[]string{"tenant", "set", "--help"}, []string{"Usage: kith tenant set", "--secure-mode", "--browser-payment", "--share-origin", "--consent", "--discount-id"}},
		{[]string{"tenant", "create", "--help"}, []string{"Usage: kith tenant create", "--landing-url", "--allow-host", "--consent"}},
		{[]string{"program", "--help"}, []string{"list", "show", "set", "apply", "try", "orders"}},
		{[]string{"api", "--help"}, []string{"Usage: kith api --tenant=ALIAS <method> <path> [<field> ...]", "'/subscription/{endpointUrl}'", "--columns", "KITH_KEY"}},
		{[]string{"backup", "--help"}, []string{"Usage: kith backup <file>", "--tenant", "--no-files", "--with-master-key", "KITH_FILES", "separately"}},
		{[]string{"restore", "--help"}, []string{"Usage: kith restore <file>", "--tenant", "empty database", "incomplete"}},
		{[]string{"tenant", "erase", "--help"}, []string{"Usage: kith tenant erase <alias>", "--yes", "run it again to finish"}},
		{[]string{"tenant", "export", "--help"}, []string{"Usage: kith tenant export <alias> <file>", "no secrets"}},
		{[]string{"token", "--help"}, []string{"--tenant", "--account", "--user", "--expires"}},
	} {
		out, errOut, status := s.run(t, nil, test.args...)
		require.Zero(t, status, "%v", test.args)
		require.Empty(t, errOut)
		for _, word := range test.says {
			require.Contains(t, out, word, "%v", test.args)
		}
	}
	for _, ask := range []string{"version", "--version"} {
		out, _, status := s.run(t, nil, ask)
		require.Zero(t, status)
		require.Regexp(t, `^kith \S+\n$`, out)
		require.NotContains(t, out, "unknown")
	}
	entries, err := os.ReadDir(s.data)
	require.NoError(t, err)
	require.Empty(t, entries, "printing help creates no files")
}

// The exit status is 2 for an invalid command line, and 1 for a command that failed.
func TestCLI_Errors(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	taken := newSite(t) // in use by s
	taken.data, taken.backend = s.data, s.backend
	s.serve(t)
	for _, test := range []struct {
		name   string
		site   *site
		env    []string
		args   string
		status int
		says   string
	}{
		{"no such command", s, nil, "fly", 2, "fly"},
		{"no such flag", s, nil, "serve --fast", 2, "--fast"},
		{"a flag is missing", s, nil, "tenant create acme", 2, "--landing-url"},
		{"an argument is missing", s, nil, "tenant create --landing-url https://x.example", 2, "alias"},
		{"an unknown value", s, nil, "tenant create acme --landing-url https://x.example --consent maybe", 2, "opt-in"},
		{"not a number", s, []string{"KITH_MAX_BODY=big"}, "edge", 2, "big"},
		{"an existing tenant", s, nil, "tenant create demo --landing-url https://x.example", 1, "there is a tenant demo already"},
		{"an invalid alias", s, nil, "tenant create a.b --landing-url https://x.example", 1, "alias"},
		{"an invalid landing URL", s, nil, "tenant create acme --landing-url x.example", 1, "absolute http or https URL"},
		{"consent without its cookie", s, nil, "tenant create acme --landing-url https://x.example --consent opt-in", 1, "consent-cookie"},
		{"programs of no tenant", s, nil, "program list --tenant nobody", 1, "there is no tenant"},
		{"programs without a tenant", s, nil, "program list", 2, "--tenant"},
		{"a program that is not there", s, nil, "program show spring --tenant demo", 1, "there is no such program"},
		{"a program that is there", s, nil, "api POST /programs --tenant demo id=classic sharing.url=https://x.example", 1, "there is a program classic already"},
		{"the last program", s, nil, "api DELETE /programs/classic --tenant demo", 1, "the last program of a tenant cannot be deleted"},
		{"an invalid landing page", s, nil, "program set classic --tenant demo sharing.url=x", 1, "sharing.url: must be an absolute"},
		{"a discount above 100%", s, nil, "program set classic --tenant demo rewards.referred.discountPercent=101", 1, "rewards.referred.discountPercent: must be a percentage from 0 to 100"},
		{"a setting that is none", s, nil, "program set classic --tenant demo fraud.smell=DENY", 1, "fraud.smell: is not a key"},
		{"a setting without a value", s, nil, "program set classic --tenant demo name", 1, "name: must be NAME=VALUE"},
		{"no setting", s, nil, "program set classic --tenant demo", 2, "setting"},
		{"a program of another key", s, nil, "program set classic --tenant demo id=spring", 1, "id: must be the one in the path"},
		{"a file that is not there", s, nil, "program apply --tenant demo /nowhere", 1, "/nowhere"},
		{"a file that is no program", s, nil, "program apply --tenant demo /dev/null", 1, "JSON"},
		{"a method that is none", s, nil, "api PATCH /programs --tenant demo", 1, "method: must be GET, POST, PUT or DELETE"},
		{"a path without a slash", s, nil, "api GET programs --tenant demo", 1, "path: must begin with /"},
		{"a path that is none", s, nil, "api GET /program --tenant demo", 1, "did you mean /api/v1/demo/programs?"},
		{"a path with a name left", s, nil, "api GET /programs/{program} --tenant demo", 1, "path: /programs/{program} has a {NAME} that no field gives"},
		{"a call of no tenant", s, nil, "api GET /programs --tenant nobody", 1, "there is no tenant"},
		{"a call of a service without a key", s, nil, "api GET /programs --tenant demo --url " + s.backend, 1, "key: is required with --url"},
		{"a call of a service with a wrong key", s, nil, "api GET /programs --tenant demo --key x --url " + s.backend, 1, "API key"},
		{"a call of no service", s, nil, "api GET /programs --tenant demo --key x --url http://127.0.0.1:1", 1, "connection refused"},
		{"a value that is not there", s, nil, "api GET /programs --tenant demo --value secret", 1, "value: the answer has no secret"},
		{"all of what is no list", s, nil, "api GET /programs/classic --tenant demo --all", 1, "all: is for lists"},
		{"settings of no tenant", s, nil, "tenant show nobody", 1, "no tenant"},
		{"a switch that is none", s, nil, "tenant set demo --secure-mode fly=open", 1, "upsert-user"},
		{"a mode that is none", s, nil, "tenant set demo --secure-mode get-widget=shut", 1, "signed, open, disabled"},
		{"a payment that is none", s, nil, "tenant set demo --browser-payment all", 1, "browser-payment"},
		{"a consent that is none", s, nil, "tenant set demo --consent maybe", 1, "opt-out"},
		{"an origin with a path", s, nil, "tenant set demo --share-origin https://x.example/y", 1, "share-origin"},
		{"a token of an unknown tenant", s, nil, "token --tenant missing --account a --user b", 1, "no tenant"},
		{"a token without an account", s, nil, "token --tenant demo --account null --user b", 1, "account"},
		{"an address in use", taken, nil, "serve", 1, "KITH_BACKEND_ADDR"},
		{"an address that is none", s, []string{"KITH_BACKEND_ADDR=nowhere"}, "serve", 1, "nowhere"},
		{"a port that is none", s, []string{"KITH_BACKEND_ADDR=127.0.0.1:http"}, "serve", 1, `backend-addr: must be HOST:PORT with a port from 0 to 65535, such as 127.0.0.1:8080, not "127.0.0.1:http"`},
		{"a port that is too high", s, []string{"KITH_EDGE_ADDR=127.0.0.1:70000"}, "edge", 1, `edge-addr: must be HOST:PORT`},
		{"a port of probes that is none", s, []string{"KITH_OPS_ADDR=9090"}, "serve --backend-addr 127.0.0.1:0", 1, `ops-addr: must be HOST:PORT`},
		{"an address of another machine", s, []string{"KITH_BACKEND_ADDR=192.0.2.1:80"}, "serve", 1, "backend-addr: must be an address of this machine; correct KITH_BACKEND_ADDR"},
		{"an address of probes in use", s, []string{"KITH_OPS_ADDR=" + strings.TrimPrefix(s.backend, "http://")}, "serve --backend-addr 127.0.0.1:0", 1, "ops-addr: another kith or another program listens there; stop it, or choose another address by KITH_OPS_ADDR"},
		{"a folder that cannot be made", s, []string{"KITH_DATA=/proc/kith"}, "serve", 1, "data folder: mkdir /proc/kith: no such file or directory; create it"},
		{"a file for a folder", s, []string{"KITH_DATA=/dev/null"}, "serve", 1, "data folder: mkdir /dev/null: not a directory; create it"},
		{"a server that is away", s, []string{"KITH_DATABASE_URL=ws://127.0.0.1:1"}, "serve", 1, "start the server, or correct KITH_DATABASE_URL and KITH_DATABASE_TOKEN"},
		{"a key for SFTP that is none", s, nil, "serve --backend-addr 127.0.0.1:0 --sftp-addr 127.0.0.1:0 --sftp-host-key /dev/null", 1, "sftp-host-key: /dev/null is not a private key"},
		{"a public URL that is none", s, []string{"KITH_PUBLIC_URL=shop"}, "serve", 1, "public-url: must be an absolute http or https URL"},
		{"a clock tolerance that is none", s, []string{"KITH_CLOCK_TOLERANCE=1us"}, "edge", 1, "clock-tolerance: must be 1ms or more"},
		{"a master key that is none", s, []string{"KITH_MASTER_KEY=short"}, "serve", 1, "32 bytes in hex or base64"},
		{"a master key that is none, at the edge", s, []string{"KITH_MASTER_KEY=short"}, "edge", 1, "32 bytes in hex or base64"},
		{"a manifest that is not there", s, []string{"KITH_MANIFEST=/nowhere/spin.toml"}, "edge", 1, "/nowhere/spin.toml"},
		{"a database of no kind", s, []string{"KITH_DATABASE_URL=mysql://x"}, "serve", 1, "mysql"},
		{"a backend URL that is none", s, []string{"KITH_BACKEND_URL=nowhere"}, "edge", 1, "nowhere"},
	} {
		out, errOut, status := test.site.run(t, test.env, strings.Fields(test.args)...)
		require.Equal(t, test.status, status, "%s: %s%s", test.name, out, errOut)
		require.Contains(t, errOut, test.says, test.name)
		require.NotContains(t, errOut, "goroutine", test.name)
		lines := strings.Split(strings.TrimSpace(errOut), "\n")
		require.Contains(t, errOut, "kith: ", "%s: %q", test.name, lines)
	}
}

// The keys are printed once, work for their tenant, and are not in the database; the test
// tenant has its own key.
func TestCLI_TenantCreate(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	out, errOut, status := s.run(t, nil, "tenant", "create", "acme", "--landing-url", "https://acme.example/start#top")
	require.Zero(t, status, errOut)
	require.Regexp(t, `^tenant     API key \(both are shown only now\) +key that signs user tokens\nacme       LIVE_[2-9A-HJ-NP-Z]{40}  TOKEN_LIVE_[2-9A-HJ-NP-Z]{40}\ntest_acme  TEST_[2-9A-HJ-NP-Z]{40}  TOKEN_TEST_[2-9A-HJ-NP-Z]{40}\n$`, out)
	words := strings.Fields(out)
	s.keys["acme"], s.keys["test_acme"] = words[len(words)-5], words[len(words)-2]
	s.serve(t)
	for _, tenant := range []string{"acme", "test_acme"} {
		s.identify(t, s.backend, tenant, "anna", `{"referralCode":"ANNA10"}`)
		a := mustCall(t, http.StatusFound, "GET", s.backend+"/s/"+tenant+"/ANNA10", "")
		require.Regexp(t, `^https://acme\.example/start\?rsCode=ANNA10&.*#top$`, a.header.Get("Location"))
		files, err := filepath.Glob(filepath.Join(s.data, "*"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			require.NotContains(t, string(text), s.keys[tenant], file)
		}
	}
	mustCall(t, http.StatusUnauthorized, "GET", s.backend+"/api/v1/test_acme/code/ANNA10", "", s.auth("acme"))
}

// A setting takes effect at once, in the backend and in an edge on the same file; settings
// that are not named do not change.
func TestCLI_TenantSet(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	s.serve(t)
	s.serveEdge(t)
	s.identify(t, s.backend, "demo", "ben", `{}`)
	events := "/api/v1/demo/open/account/ben/user/ben/events"
	for _, step := range []struct {
		mode   string
		status int
	}{{"signed", http.StatusUnauthorized}, {"open", http.StatusOK}, {"disabled", http.StatusForbidden}} {
		out, errOut, status := s.run(t, nil, "tenant", "set", "demo", "--secure-mode", "track-events="+step.mode, "--share-origin", "https://go.example")
		require.Zero(t, status, errOut)
		require.Contains(t, out, "secure-mode      track-events="+step.mode+"\n")
		for _, base := range []string{s.backend, s.edge} {
			mustCall(t, step.status, "POST", base+events, `{"events":[{"key":"visit"}]}`)
		}
	}
	out, errOut, status := s.run(t, nil, "tenant", "show", "demo")
	require.Zero(t, status, errOut)
	require.Contains(t, out, "discount-id      svc_discount\nconsent          off\n")
	require.Contains(t, out, "share-origin     https://go.example\n")
	require.Contains(t, out, "secure-mode      upsert-user=signed\n")
	require.Contains(t, out, "secure-mode      track-events=disabled\n")
	require.NotContains(t, out, s.keys["demo"])
}

func TestCLI_TokenSpeaksForItsUser(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	s.serve(t)
	s.serveEdge(t)
	token := "Authorization: Bearer " + s.token(t, "ben")
	for _, base := range []string{s.edge, s.backend} {
		mustCall(t, http.StatusOK, "PUT", base+"/api/v1/demo/open/account/ben/user/ben", `{"firstName":"Ben"}`, token)
		mustCall(t, http.StatusOK, "POST", base+"/api/v1/demo/open/account/ben/user/ben/events", `{"events":[{"key":"visit"}]}`, token)
		mustCall(t, http.StatusForbidden, "GET", base+"/api/v1/demo/open/account/anna/user/anna", "", token)
		mustCall(t, http.StatusUnauthorized, "GET", base+"/api/v1/test_demo/open/account/ben/user/ben", "", token)
	}
}

// Settings are read from flags and from the environment, and a flag takes precedence. The
// log has the effective settings, without secrets.
func TestCLI_Configuration(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	key, err := os.ReadFile(filepath.Join(s.data, "master.key"))
	require.NoError(t, err)
	secret := strings.TrimSpace(string(key))
	elsewhere := newSite(t)
	p := s.start(t, elsewhere.backend+"/healthz", []string{"KITH_BACKEND_ADDR=127.0.0.1:1", "KITH_MASTER_KEY=" + secret, "KITH_DATABASE_TOKEN=token-of-the-database"},
		"serve", "--backend-addr", strings.TrimPrefix(elsewhere.backend, "http://"))
	e := s.serveEdge(t, "KITH_MASTER_KEY="+secret, "KITH_DATABASE_TOKEN=token-of-the-database", "KITH_BACKEND_PUBLIC_URL=https://public.example")
	mustCall(t, http.StatusNotFound, "GET", elsewhere.backend+"/x", "")
	mustCall(t, http.StatusServiceUnavailable, "GET", s.edge+"/x", "")
	p.stop(t)
	e.stop(t)
	log := p.log(t)
	require.Contains(t, log, "addr="+strings.TrimPrefix(elsewhere.backend, "http://"))
	require.Contains(t, log, "master_key=set")
	require.Contains(t, log, "database_token=set")
	require.Contains(t, log, "database=file:"+s.file())
	require.Contains(t, e.log(t), "backend_public_url=https://public.example")
	require.Contains(t, e.log(t), "database_token=set")
	require.Contains(t, e.log(t), "max_body=8388608")
	for _, output := range []string{log, e.log(t)} {
		require.NotContains(t, output, secret)
		require.NotContains(t, output, "token-of-the-database")
		require.NotContains(t, output, s.keys["demo"])
	}
}

// The master key is created once and is readable by its owner only, also when two programs
// start at the same time on an empty folder.
func TestCLI_MasterKeyIsMadeOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.data = filepath.Join(s.data, "not", "there")
	var programs []*process
	for _, args := range [][]string{{"serve"}, {"edge"}} {
		programs = append(programs, s.launch(t, []string{"KITH_BACKEND_URL=" + s.backend}, args...))
	}
	for _, url := range []string{s.backend, s.edge} {
		await(t, func() error {
			a, err := call("GET", url+"/healthz", "")
			if err == nil && a.status != http.StatusOK {
				err = fmt.Errorf("%s\n%s\n%s", a.body, programs[0].output, programs[1].output)
			}
			return err
		})
	}
	info, err := os.Stat(filepath.Join(s.data, "master.key"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	for _, p := range programs {
		p.stop(t)
	}
}
