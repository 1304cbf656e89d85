package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

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
		if printed = openLine.FindStringSubmatch(node.output.String()); printed == nil {
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
	runInBrowser(t, "portal-integrations", map[string]any{"portal": s.edge, "email": ownerEmail, "password": printed[2], "hook": hook.URL, "shots": os.Getenv("KITH_SHOTS")},
		"keys", "webhook", "gateway", "consent", "looks")
}
