package e2e

import (
	"fmt"
	"os"
	"testing"
)

// People import and export files in a browser that reaches nothing but the edge, which
// accepts 8 MiB in one request.
func TestBrowser_PortalFiles(t *testing.T) {
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
	runInBrowser(t, "portal-files", map[string]any{"portal": s.edge, "email": printed[1], "password": printed[3], "shots": os.Getenv("KITH_SHOTS")},
		"rejectedRow", "progress", "withoutScripts", "looks")
}
