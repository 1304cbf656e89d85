package api

import (
	"net/http"

	"kith/backend/app/base"
	"kith/core"
	"kith/core/auth"
	"kith/core/link"
	"kith/core/operation"
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
	policy, life, err := a.Engine.Links.Consent(r.Context(), alias)
	if err != nil {
		return err
	}
	a.forget(w, r, alias, policy)
	writeJSON(w, http.StatusOK, wire.Consent(policy, life))
	return nil
}

// referralCookie handles GET /a/{tenant}/widgets/squatchcookiejson: the codes in the
// visitor's cookies. Any client can write codes into two of the cookies, so unknown ones are
// counted as guesses.
func (a *API) referralCookie(w http.ResponseWriter, r *http.Request) error {
	alias, err := core.ParseTenantAlias(r.PathValue("tenant"))
	if err != nil {
		return err
	}
	firstParty, visit := r.URL.Query().Get("cookies"), a.visit(r)
	unsigned := wire.VisitorCodes(alias, nil, firstParty, link.FindSquatchCookie(visit.Cookie), a.Engine.Now())
	limited := len(unsigned) > 0 && base.Live(alias)
	if limited {
		if err := a.guesses().exhausted(w, r); err != nil {
			return err
		}
	}
	codes, tenant, err := a.Engine.Links.VisitorCodes(r.Context(), alias, firstParty, visit)
	if err != nil {
		return err
	}
	// kith.js always sends the parameter. A script of the older API sends it only once it has
	// read _saasquatch of a landing page, and sends no other call if a page uses only autofill.
	if !r.URL.Query().Has("cookies") {
		a.Engine.APIKeys.NoteOlderScript(tenant)
	}
	known, unknown, err := a.Engine.Links.KnownCodes(r.Context(), alias, codes)
	if err != nil {
		return err
	}
	if limited && unknown > 0 {
		if err := a.guesses().attempt(w, r, unknown); err != nil {
			return err
		}
	}
	a.forget(w, r, alias, tenant.Policy)
	writeJSON(w, http.StatusOK, wire.ReferralCookie(known))
	return nil
}

// forgetRefused is forget for the tenant of a caller. It does nothing for a call with the
// API key, whose answer goes to a server.
func (a *API) forgetRefused(w http.ResponseWriter, r *http.Request, c base.Caller) {
	if !c.Key {
		a.forget(w, r, c.Tenant.Alias, c.Tenant.Policy)
	}
}

// forget makes an answer delete the referral cookies of a visitor who refused. The
// attribution cookie is last, because Spin sends only the last of several Set-Cookie
// headers.
func (a *API) forget(w http.ResponseWriter, r *http.Request, alias core.TenantAlias, policy link.Policy) {
	own, squatch := link.Forget(a.visit(r), link.Tenant{Alias: alias, Policy: policy})
	for _, cookie := range []string{squatch, own} {
		if cookie != "" {
			w.Header().Add("Set-Cookie", cookie)
		}
	}
}

// cookieIdentified identifies the user that the request's cookie names, or a new user,
// and sets the cookie that names the user in later requests.
func (a *API) cookieIdentified(w http.ResponseWriter, r *http.Request, op *operation.Operation) (c base.Caller, done rules.Identified, err error) {
	if c, err = a.maybeAnonymous(w, r, op); err != nil {
		return c, done, err
	}
	if err = c.May(auth.CreateCookieUser, "", ""); err != nil {
		return c, done, err
	}
	body, err := readJSON(w, r)
	if err != nil {
		return c, done, err
	}
	c, done, err = a.Engine.Identification.IdentifyCookieUser(r.Context(), c, body, a.withCookies(r, c, rules.Identification{
		IP: userIP(c, r), Share: c.Share(a.origin(r)),
	}))
	if err != nil {
		return c, done, err
	}
	a.guesses().unknownCodes(w, r, c, done)
	a.remember(w, r, c, done.User.ID)
	a.forgetRefused(w, r, c)
	return c, done, nil
}

// remember sets the cookie that names a cookie user in later requests.
func (a *API) remember(w http.ResponseWriter, r *http.Request, c base.Caller, id core.UserID) {
	if set := a.Engine.Links.RememberCookieUser(c, a.visit(r), id); set != "" {
		w.Header().Add("Set-Cookie", set)
	}
}
