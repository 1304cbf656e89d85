package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The lab program prints how to connect, its controls work, it stops on SIGTERM, and with
// a journal it has the same state after a restart.
func TestGatewaylab_RestoresItsState(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	lab := "http://" + freeAddr(t)
	env := []string{"KITH_LAB_ADDR=" + strings.TrimPrefix(lab, "http://"), "KITH_LAB_JOURNAL=" + filepath.Join(s.data, "lab.journal")}
	const form = "Content-Type: application/x-www-form-urlencoded"

	p := s.start(t, lab+"/", env, "gatewaylab")
	for _, word := range []string{lab, "lab_merchant", "lab_public_key", "lab_private_key"} {
		p.waitLog(t, word)
	}
	mustCall(t, http.StatusOK, "POST", lab+"/lab/customers", "id=anna", form)
	mustCall(t, http.StatusOK, "POST", lab+"/lab/subscriptions", "id=s1&customer=anna&plan=pro", form)
	p.stop(t)

	s.start(t, lab+"/", env, "gatewaylab")
	state := decode[struct{ Subscriptions []struct{ ID, Status string } }](t, mustCall(t, http.StatusOK, "GET", lab+"/lab/state", ""))
	require.Len(t, state.Subscriptions, 1)
	require.Equal(t, "Active", state.Subscriptions[0].Status)
}

// `kith dev` starts a lab, stores its journal in the data folder, and stops it.
func TestDev_StartsAGatewayLab(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	lab := "http://" + freeAddr(t)
	env := "KITH_LAB_ADDR=" + strings.TrimPrefix(lab, "http://")
	node := s.dev(t, env)
	require.Contains(t, mustCall(t, http.StatusOK, "GET", s.edge+"/developers", "").body, lab)
	require.Contains(t, mustCall(t, http.StatusOK, "GET", lab+"/", "").body, "Gateway lab")
	mustCall(t, http.StatusOK, "POST", lab+"/lab/customers", "id=anna", "Content-Type: application/x-www-form-urlencoded")
	node.stop(t)
	journal, err := os.ReadFile(filepath.Join(s.data, "gatewaylab.journal"))
	require.NoError(t, err)
	require.Contains(t, string(journal), "POST /lab/customers")
	s.dev(t, env)
	require.Contains(t, mustCall(t, http.StatusOK, "GET", lab+"/lab/state", "").body, `"anna"`)
}
