package host

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"kith/wasm/watchdog"
)

// watch makes a watchdog for each of Options.HealthChecks.
func (h *Host) watch() error {
	h.watchdogs = map[string]*watchdog.Watchdog{}
	if h.options.StrictSpin {
		return nil
	}
	for _, check := range h.options.HealthChecks {
		u, err := parseTarget(check)
		if err != nil {
			return fmt.Errorf("host: health check %q: must be an absolute http or https URL, such as http://127.0.0.1:8080/healthz", check)
		}
		h.watchdogs[serverOf(u)] = watchdog.New(watchdog.Config{
			Name: u.Host, Timeout: h.options.HealthTimeout, Log: h.options.Log, WithTimeout: h.options.withTimeout,
			Check: func(ctx context.Context) error { return h.isAlive(ctx, u) },
		})
	}
	return nil
}

// Away reports whether calls to one of the watched servers fail at once, because it hangs.
func (h *Host) Away() bool {
	for _, w := range h.watchdogs {
		if w.Away() {
			return true
		}
	}
	return false
}

// serverOf returns the key of a server in Host.watchdogs.
func serverOf(u *url.URL) string { return u.Scheme + "://" + u.Host }

// isAlive returns nil if a server responds, whatever the response is.
func (h *Host) isAlive(ctx context.Context, u *url.URL) error {
	r := (&http.Request{Method: http.MethodGet, URL: u, Header: http.Header{"User-Agent": {""}}}).WithContext(ctx)
	response, err := h.transport.RoundTrip(r)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// watched returns the context of a request to a server. It ends when the server is found
// to hang. If the server is known to hang, the error is watchdog.ErrSilent.
func (h *Host) watched(ctx context.Context, u *url.URL) (_ context.Context, end func(), err error) {
	if w := h.watchdogs[serverOf(u)]; w != nil {
		return w.Begin(ctx)
	}
	return ctx, func() {}, nil
}
