package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The tests that take turns exist, and each has one turn.
func TestTurns_NameTests(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "wasm/toolchain/turns.txt"))
	require.NoError(t, err)
	tests, seen := declaredTests(t), map[string]bool{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "#") {
			continue
		}
		name, _, _ := strings.Cut(line, "/")
		require.True(t, tests["wasm/e2e."+name] || tests["backend/cmd/kith."+name], "%s is no test", line)
		require.False(t, seen[line], "%s is listed twice", line)
		seen[line] = true
	}
	require.Greater(t, len(seen), 40)
}
