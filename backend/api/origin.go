package api

import (
	"net/http"

	"kith/core/origin"
)

// acrossOrigins lets pages of a tenant's shop call what scripts call, and
// answers what their browsers ask before. What it says goes with every answer,
// errors included: a script could not read them otherwise.
func (a *API) acrossOrigins(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from := r.Header.Get("Origin")
		tenant, covered := origin.Covers(r.URL.EscapedPath())
		if from == "" || !covered {
			next.ServeHTTP(w, r)
			return
		}
		allowed, err := a.Engine.Origins.Allowed(r.Context(), tenant, from)
		preflight := origin.Preflight(r.Method, from, r.Header.Get("Access-Control-Request-Method"))
		if err == nil {
			for _, h := range origin.Headers(from, allowed, preflight) {
				w.Header().Set(h.Name, h.Value)
			}
			if preflight && !allowed {
				err = origin.Refused()
			}
		}
		if err == nil && !preflight {
			next.ServeHTTP(w, r)
			return
		}
		a.observe("none", a.adapt(answered(err))).ServeHTTP(w, r)
	})
}

// answered is a handler that answers with an error or, without one, with no content.
func answered(err error) handler {
	return func(w http.ResponseWriter, _ *http.Request) error {
		if err == nil {
			w.WriteHeader(http.StatusNoContent)
		}
		return err
	}
}
