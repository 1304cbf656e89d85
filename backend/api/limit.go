package api

import (
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"github.com/go-chi/httprate"

	"kith/backend/program"
	"kith/core"
)

// Limit bounds the calls of browsers and apps, so that nobody can try codes or
// keys by the million.
type Limit struct {
	perMinute int
	calls     *httprate.RateLimiter
}

// NewLimit lets each address make perMinute calls in any minute, at least 1; nil
// for 0 means no bound. IPv6 addresses of one network (/64) count as one, and
// addresses that are not public are not counted: behind a proxy that is not to
// be believed, they are those of everybody.
//
// The reference (section 6) limits calls without the API key on live tenants;
// how many is our choice.
func NewLimit(perMinute int) *Limit {
	if perMinute == 0 {
		return nil
	}
	silent := httprate.WithResponseHeaders(httprate.ResponseHeaders{})
	return &Limit{perMinute, httprate.NewRateLimiter(perMinute, time.Minute, silent)}
}

// count counts a call that was authenticated, or failed to be, and refuses it
// when there were too many.
func (l *Limit) count(r *http.Request, c program.Caller, failed error) error {
	if l == nil || failed == nil && (c.Key || !program.Live(c.Tenant.Alias)) {
		return nil
	}
	ip := seenIP(r)
	addr, err := netip.ParseAddr(ip)
	if err != nil || addr.IsLoopback() || addr.IsPrivate() || addr.IsLinkLocalUnicast() {
		return nil
	}
	if l.calls.OnLimit(nil, r, httprate.CanonicalizeIP(addr.Unmap().String())) {
		return &core.Error{Code: core.CodeRateLimited, RS: "RS033",
			Message: fmt.Sprintf("more than %d calls a minute without an API key from one address; wait a little", l.perMinute)}
	}
	return nil
}
