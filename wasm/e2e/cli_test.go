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
		{[]string{"api", "--help"}, []string{"Usage: kith api <method> [<path> [<field> ...]]", "'/subscription/{endpointUrl}'", "--columns", "KITH_KEY"}},
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
