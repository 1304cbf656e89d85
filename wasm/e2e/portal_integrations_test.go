package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// People connect their systems in a browser: an API key works at once, a webhook's test
// shows its result, and the checklist asks the gateway. With KITH_SHOTS set to a folder,
// each page is also drawn there.
func TestBrowser_PortalIntegrations(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	node := s.dev(t, "KITH_LAB_ADDR="+freeAddr(t))
	var printed []string
	await(t, func() error {
		if printed = ownerLine.FindStringSubmatch(node.output.String()); printed == nil {
			return fmt.Errorf("no password is printed:\n%s", node.output)
		}
		return nil
	})
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = w.Write([]byte("received <test>"))
	}))
	defer hook.Close()
	_, errOut, status := s.run(t, nil, "webhook", "allow", "--tenant", "test_demo", "127.0.0.1")
	require.Zero(t, status, errOut)
	chromium, err := exec.LookPath("chromium")
	require.NoError(t, err, "wasm/toolchain/setup.sh test installs it")
	input, err := json.Marshal(map[string]any{
		"chromium": chromium, "portal": s.edge, "email": printed[1], "password": printed[3], "hook": hook.URL, "shots": os.Getenv("KITH_SHOTS"),
	})
	require.NoError(t, err)
	scenarios := []string{"keys", "webhook", "gateway", "consent", "looks"}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, "node", append([]string{"run.mjs", "portal-integrations"}, scenarios...)...)
	command.Dir, command.Stdin, command.Env = "browser", bytes.NewReader(input), append(os.Environ(), "HOME="+t.TempDir())
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	require.NoError(t, err, "%s%s", out, stderr.String())
	outcomes := strings.Split(strings.TrimSpace(string(out)), "\n")
	require.Len(t, outcomes, len(scenarios))
	for i, line := range outcomes {
		var outcome struct{ Name, Error string }
		require.NoError(t, json.Unmarshal([]byte(line), &outcome), line)
		require.Equal(t, scenarios[i], outcome.Name)
		t.Run(outcome.Name, func(t *testing.T) { require.Empty(t, outcome.Error) })
	}
}
