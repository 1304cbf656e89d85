package api

import (
	"net/http"

	"kith/backend/app/tenants"
	"kith/core/operation"
	"kith/core/origin"
	"kith/core/wire"
)

// acrossOrigins implements CORS: it sets the headers with which pages of a tenant's
// allowed origins may call the API, and answers preflight requests. Errors have the
// headers too; otherwise a script could not read them.
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

// answered returns a handler that returns err, or answers 204 if err is nil.
func answered(err error) handler {
	return func(w http.ResponseWriter, _ *http.Request) error {
		if err == nil {
			w.WriteHeader(http.StatusNoContent)
		}
		return err
	}
}

func (a *API) websiteRoutes() routes {
	return routes{tenantPath + "/website": {"GET": a.keyed(operation.ReadIntegrations, a.website), "PUT": a.keyed(operation.ChangeWebsite, with(body(wire.ParseWebsite), a.changeWebsite))}}
}

// website handles GET /website.
func (a *API) website(c *call) ([]byte, error) {
	return encode(website)(a.Engine.Tenants.Website(c.Context(), c.tenant))
}

func website(w tenants.Website) []byte {
	return wire.Website(wire.WebsiteSettings{Policy: w.Tenant.Policy, ShareOrigin: w.Tenant.ShareOrigin, SecureMode: w.Tenant.SecureMode, Origins: w.Origins})
}

// changeWebsite handles PUT /website.
func (a *API) changeWebsite(c *call, in wire.WebsiteUpdate) ([]byte, error) {
	return encode(website)(a.Engine.Admin.Website.Change(c.Context(), c.member(), tenants.WebsiteChange(in)))
}
