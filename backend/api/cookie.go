package api

import (
	"net/http"

	"kith/core"
	"kith/core/wire"
)

func (a *API) cookieRoutes() routes {
	return routes{
		"/a/{tenant}/widgets/squatchcookiejson": {"GET": a.referralCookie},
		"/a/{tenant}/consent":                   {"GET": a.consent},
	}
}

// consent is GET of a tenant's policy for cookies, which the browser script asks
// for before it sets one.
func (a *API) consent(w http.ResponseWriter, r *http.Request) error {
	alias, err := core.ParseTenantAlias(r.PathValue("tenant"))
	if err != nil {
		return err
	}
	policy, err := a.Engine.Consent(r.Context(), alias)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.Consent(policy))
	return nil
}

// referralCookie is GET of the codes that a visitor came with.
func (a *API) referralCookie(w http.ResponseWriter, r *http.Request) error {
	alias, err := core.ParseTenantAlias(r.PathValue("tenant"))
	if err != nil {
		return err
	}
	codes, err := a.Engine.ReferralCookie(r.Context(), alias, r.URL.Query().Get("cookies"), cookies(r))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.ReferralCookie(codes))
	return nil
}
