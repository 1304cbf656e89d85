package e2e

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The Go client that oapi-codegen generates from the served OpenAPI document compiles and
// runs the README's story. make compat does the same in Java and Python.
func TestOpenAPI_GoClientRunsTheStory(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.dev(t)
	folder := t.TempDir()
	document, story := filepath.Join(folder, "openapi.json"), filepath.Join(folder, "story")
	served := mustCall(t, http.StatusOK, "GET", s.edge+"/api/v1/openapi.json", "")
	require.NoError(t, os.WriteFile(document, []byte(served.body), 0o600))
	for _, command := range []*exec.Cmd{
		exec.Command(filepath.Join(root, "wasm", "compat", "go", "generate.sh"), document, story),
		exec.Command(story, s.edge),
	} {
		output, err := command.CombinedOutput()
		require.NoError(t, err, "%s; run make test-needs\n%s", command, output)
	}
}
