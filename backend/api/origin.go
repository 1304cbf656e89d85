package api

import (
	"net/http"

	"kith/core/origin"
)

// acrossOrigins lets pages of a tenant's shop call what scripts call, and
// answers what their browsers ask before. What it says goes with every answer,
// errors included: a script could not read them otherwise.
func (a *API) acrossOrigins(next http.Handler) http.Handler {
	return a.adapt(func(w http.ResponseWriter, r *http.Request) error {
		from := r.Header.Get("Origin")
		tenant, covered := origin.Covers(r.URL.EscapedPath())
		if from == "" || !covered {
			next.ServeHTTP(w, r)
			return nil
		}
		allowed, err := a.Engine.OriginAllowed(r.Context(), tenant, from)
		if err != nil {
			return err
		}
		preflight := origin.Preflight(r.Method, from, r.Header.Get("Access-Control-Request-Method"))
		for _, h := range origin.Headers(from, allowed, preflight) {
			w.Header().Set(h.Name, h.Value)
		}
		switch {
		case !preflight:
			next.ServeHTTP(w, r)
		case allowed:
			w.WriteHeader(http.StatusNoContent)
		default:
			return origin.Refused()
		}
		return nil
	})
}
