package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// kith health is what a container engine runs: it succeeds while its process is ready, also
// without a part, and fails with the reason while it is not.
func TestHealth(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	backend, backendOps := s.opsServe(t)
	edge, edgeOps := s.opsEdge(t)
	health := func(ops string) (out, errOut string, status int) {
		return s.run(t, []string{"KITH_OPS_ADDR=" + strings.TrimPrefix(ops, "http://")}, "health")
	}
	for _, ops := range []string{backendOps, edgeOps} {
		out, errOut, status := health(ops)
		require.Zero(t, status, errOut)
		require.JSONEq(t, `{"status":"ok"}`, out)
	}
	backend.kill()
	_, errOut, status := health(backendOps)
	require.Equal(t, 1, status)
	require.Contains(t, errOut, "kith: no answer: ")
	await(t, func() error {
		if out, errOut, status := health(edgeOps); status != 0 || !strings.Contains(out, `"degraded"`) {
			return fmt.Errorf("status %d: %s%s", status, out, errOut)
		}
		return nil
	})
	edge.stop(t)

	// A backend with another master key refuses the signature of the edge.
	other := ownKeySite(t)
	other.serve(t)
	s.backend = other.backend
	_, edgeOps = s.opsEdge(t)
	eventually(t, http.StatusServiceUnavailable, "GET", edgeOps+"/readyz", "")
	_, errOut, status = health(edgeOps)
	require.Equal(t, 1, status)
	require.Contains(t, errOut, "kith: not ready: ")
	require.Contains(t, errOut, "give both the same master key")
}
