package api

import (
	"net/http"

	"kith/backend/app/base"
	"kith/core"
	"kith/core/auth"
	"kith/core/rules"
	"kith/core/wire"
)

func (a *API) cookieRoutes() routes {
	return routes{
		"/a/{tenant}/widgets/squatchcookiejson": {"GET": a.referralCookie},
		"/a/{tenant}/consent":                   {"GET": a.consent},
	}
}

// consent handles GET /a/{tenant}/consent: the tenant's policy for cookies, which the
// browser script reads before it sets one.
func (a *API) consent(w http.ResponseWriter, r *http.Request) error {
	alias, err := core.ParseTenantAlias(r.PathValue("tenant"))
	if err != nil {
		return err
	}
	policy, err := a.Engine.Links.Consent(r.Context(), alias)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.Consent(policy))
	return nil
}

// referralCookie handles GET /a/{tenant}/widgets/squatchcookiejson: the codes in the
// visitor's cookies.
func (a *API) referralCookie(w http.ResponseWriter, r *http.Request) error {
	alias, err := core.ParseTenantAlias(r.PathValue("tenant"))
	if err != nil {
		return err
	}
	codes, err := a.Engine.Links.ReferralCookie(r.Context(), alias, r.URL.Query().Get("cookies"), cookies(r))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.ReferralCookie(codes))
	return nil
}

const cookieUserPath = tenantPath + "/open/user/cookie_user"

// cookieUser handles PUT /open/user/cookie_user: the identification of a user without
// ids.
func (a *API) cookieUser(w http.ResponseWriter, r *http.Request) error {
	wanted, err := wantedFields(r)
	if err != nil {
		return err
	}
	_, done, err := a.cookieIdentified(w, r)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wanted.Of(wire.User(done.UserInfo)))
	return nil
}

// cookieIdentified identifies the user that the request's cookie names, or a new user,
// and sets the cookie that names the user in later requests.
func (a *API) cookieIdentified(w http.ResponseWriter, r *http.Request) (c base.Caller, done rules.Identified, err error) {
	if c, err = a.maybeAnonymous(w, r); err != nil {
		return c, done, err
	}
	if err = c.May(auth.CreateCookieUser, "", ""); err != nil {
		return c, done, err
	}
	body, err := readJSON(w, r)
	if err != nil {
		return c, done, err
	}
	c, done, err = a.Engine.Identification.IdentifyCookieUser(r.Context(), c, body, rules.Identification{
		Cookie: cookies(r), IP: userIP(c, r), Share: c.Share(a.origin(r)),
	})
	if err != nil {
		return c, done, err
	}
	a.guesses().unknownCodes(w, r, c, done)
	if set := a.Engine.Links.RememberCookieUser(c, a.visit(r), done.User.ID); set != "" {
		w.Header().Set("Set-Cookie", set)
	}
	return c, done, nil
}
