package e2e

import (
	"fmt"
	"testing"
)

// The figures of the overview follow what friends do, and can be filtered and read with a
// mouse, by keyboard, and without scripts.
func TestBrowser_PortalOverview(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	node := s.dev(t)
	var printed []string
	await(t, func() error {
		if printed = openLine.FindStringSubmatch(node.output.String()); printed == nil {
			return fmt.Errorf("no password is printed:\n%s", node.output)
		}
		return nil
	})
	runInBrowser(t, "portal-overview", map[string]any{
		"portal": s.edge, "backend": s.edge, "key": "LIVE_DEMO_KEY_0123456789", "email": ownerEmail, "password": printed[2],
	}, "beginning", "filtering", "reading", "withoutScripts")
}
