package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// ownerEmail is the address with which the owner of `kith dev` signs in, and openLine the
// URL and the password that it prints.
const ownerEmail = "owner@demo.example"

var openLine = regexp.MustCompile(`Open +(\S+)\n +Password +(\S+)\n`)

// People use the portal in a browser that reaches nothing but the edge. With KITH_SHOTS set
// to a folder, each page is also drawn there.
func TestBrowser_Portal(t *testing.T) {
	t.Parallel()
	for file, scenarios := range map[string][]string{
		"portal":           {"signingIn", "inviting", "twoSteps", "auditing", "keyboard", "withoutScripts", "looks"},
		"portal-files":     {"rejectedRow", "progress", "withoutScripts", "looks"},
		"portal-overview":  {"beginning", "filtering", "reading", "withoutScripts"},
		"portal-people":    {"helping", "leaving", "looks", "withoutScripts"},
		"portal-programs":  {"fromNothing", "widget", "withoutScripts", "looks"},
		"portal-referrals": {"answering", "deciding", "withoutScripts", "looks"},
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			browsePortal(t, file, scenarios...)
		})
	}
}

// browsePortal runs scenarios of browser/FILE.mjs with the portal of a new `kith dev`.
func browsePortal(t *testing.T, file string, scenarios ...string) {
	t.Helper()
	s := newSite(t)
	node := s.dev(t, "KITH_LAB_ADDR="+freeAddr(t))
	var printed []string
	await(t, func() error {
		if printed = openLine.FindStringSubmatch(node.output.String()); printed == nil {
			return fmt.Errorf("no password is printed:\n%s", node.output)
		}
		return nil
	})
	require.Equal(t, s.edge, printed[1])
	require.FileExists(t, filepath.Join(browserLibraries, "axe-core", "axe.min.js"), "run make test")
	runInBrowser(t, file, map[string]any{
		"portal": s.edge, "backend": s.backend, "key": s.keys["demo"], "email": ownerEmail, "password": printed[2], "shots": os.Getenv("KITH_SHOTS"),
	}, scenarios...)
}

// runInBrowser runs scenarios of browser/FILE.mjs, each as a test of its own.
func runInBrowser(t *testing.T, file string, params map[string]any, scenarios ...string) {
	t.Helper()
	chromium, err := exec.LookPath("chromium")
	require.NoError(t, err, "wasm/toolchain/setup.sh test installs it")
	params["chromium"] = chromium
	input, err := json.Marshal(params)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, "node", append([]string{"run.mjs", file}, scenarios...)...)
	command.Dir, command.Stdin, command.Env = "browser", bytes.NewReader(input), append(os.Environ(), "HOME="+t.TempDir())
	var errOut bytes.Buffer
	command.Stderr = &errOut
	out, err := command.Output()
	require.NoError(t, err, "%s%s", out, errOut.String())
	outcomes := strings.Split(strings.TrimSpace(string(out)), "\n")
	require.Len(t, outcomes, len(scenarios))
	for i, line := range outcomes {
		var outcome struct{ Name, Error string }
		require.NoError(t, json.Unmarshal([]byte(line), &outcome), line)
		require.Equal(t, scenarios[i], outcome.Name)
		t.Run(outcome.Name, func(t *testing.T) { require.Empty(t, outcome.Error) })
	}
}

// `kith dev` shows the same password again, until the owner chooses another one.
func TestDev_ShowsThePasswordUntilItIsChanged(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	first := s.dev(t)
	found := openLine.FindStringSubmatch(first.output.String())
	require.NotNil(t, found, first.output)
	first.stop(t)
	again := s.dev(t)
	require.Contains(t, again.output.String(), found[2])
	out, errOut, status := s.run(t, nil, "person", "reset-password", ownerEmail, "--portal-url", s.edge)
	require.Zero(t, status, errOut)
	link := strings.TrimSpace(out)
	page := mustCall(t, 200, "GET", link, "")
	require.Contains(t, page.body, ownerEmail)
	changed := mustCall(t, 303, "POST", link, "password=another+horse+battery", "Content-Type: application/x-www-form-urlencoded", "Sec-Fetch-Site: same-origin")
	require.Equal(t, "/portal/signin?done=password-set", changed.header.Get("Location"))
	again.stop(t)
	require.Contains(t, s.dev(t).output.String(), "the one that you chose; kith person reset-password owner@demo.example makes a link for a new one")
}
