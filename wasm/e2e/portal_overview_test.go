package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The figures of the overview follow what friends do, and can be filtered and read with a
// mouse, by keyboard, and without scripts.
func TestBrowser_PortalOverview(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	node := s.dev(t)
	var printed []string
	await(t, func() error {
		if printed = ownerLine.FindStringSubmatch(node.output.String()); printed == nil {
			return fmt.Errorf("no password is printed:\n%s", node.output)
		}
		return nil
	})
	chromium, err := exec.LookPath("chromium")
	require.NoError(t, err, "wasm/toolchain/setup.sh test installs it")
	input, err := json.Marshal(map[string]any{
		"chromium": chromium, "portal": s.edge, "backend": s.edge, "key": "LIVE_DEMO_KEY_0123456789", "email": printed[1], "password": printed[3],
	})
	require.NoError(t, err)
	scenarios := []string{"beginning", "filtering", "reading", "withoutScripts"}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, "node", append([]string{"run.mjs", "portal-overview"}, scenarios...)...)
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
