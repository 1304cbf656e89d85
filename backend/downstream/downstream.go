// Package downstream reports to edges, for a backend, which tenants were edited, so that they
// remove what they keep of them.
package downstream

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"kith/core"
	"kith/core/auth"
)

// Edge is an edge that keeps answers.
type Edge struct {
	// URL is the URL at which the backend reaches it.
	URL string
	// Keys are the master keys of the backend.
	Keys auth.Keyring
	// Now is the clock of the backend.
	Now func() core.Time
}

// client follows no redirects: the signature is for one request. An edge empties up to a thousand
// entries before it answers.
var client = &http.Client{
	Timeout:       5 * time.Second,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// Report reports that tenants were edited, or that all may have been if there is none. It may be
// repeated. The error says that the edge does not answer or has refused the report.
func (e Edge) Report(ctx context.Context, tenants []core.TenantAlias) error {
	names := make([]string, len(tenants))
	for i, t := range tenants {
		names[i] = string(t)
	}
	edits := auth.Edits{Query: strings.Join(names, ",")}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(e.URL, "/")+auth.EditsPath+"?"+edits.Query, nil)
	if err != nil {
		return err
	}
	r.Header.Set(auth.HopHeader, edits.Sign(e.Keys.Hop(), e.Now()))
	response, err := client.Do(r)
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusNoContent {
		return fmt.Errorf("%s answers %s to a report of edits: it is no edge of this version, or has another master key or clock", e.URL, response.Status)
	}
	return nil
}
