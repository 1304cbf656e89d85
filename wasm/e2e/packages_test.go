package e2e

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The tests of the Go client, a module of its own, run against the built program.
func TestPackages_Go(t *testing.T) {
	t.Parallel()
	command := exec.Command("go", "test", "-count=1", "./...")
	command.Dir = filepath.Join(root, "clients", "go")
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s", output)
	require.NotContains(t, string(output), "no test")
}
