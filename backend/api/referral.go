package api

import (
	"net/http"
	"net/url"

	"kith/backend/app"
	"kith/core"
	"kith/core/auth"
	"kith/core/referral"
	"kith/core/wire"
)

func (a *API) referralRoutes() routes {
	return routes{
		tenantPath + "/referrals":          {"GET": a.referrals},
		tenantPath + "/referrals/{id}":     {"GET": a.referral},
		tenantPath + "/referrals/moderate": {"POST": a.moderate},
		tenantPath + "/open/referrals":     {"GET": a.openReferrals},
	}
}

// referrals is GET /referrals.
func (a *API) referrals(w http.ResponseWriter, r *http.Request) error {
	caller, q, p, err := a.lister(w, r)
	if err != nil {
		return err
	}
	f, err := referralFilter(q, p)
	if err != nil {
		return err
	}
	found, total, err := a.Engine.Referrals(r.Context(), caller.Tenant.Alias, f)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.Referrals(found, total))
	return nil
}

// referralFilter reads what narrows a list of referrals (reference, 1.4).
func referralFilter(q url.Values, p app.Page) (f referral.Filter, err error) {
	f = referral.Filter{
		ReferredAccount: core.AccountID(q.Get("referredAccountId")), ReferredUser: core.UserID(q.Get("referredUserId")),
		ReferrerAccount: core.AccountID(q.Get("referringAccountId")), ReferrerUser: core.UserID(q.Get("referringUserId")),
		Limit: p.Limit, Offset: p.Offset,
	}
	for name, span := range map[string]*core.Span{
		"dateReferralStarted": &f.Started, "dateReferralPaid": &f.Converted, "dateReferralEnded": &f.Ended,
	} {
		if text := q.Get(name); text != "" && err == nil {
			*span, err = core.ParseSpan(name, text)
		}
	}
	for name, status := range map[string]*referral.SideStatus{
		"referrerModerationStatus": &f.ReferrerModeration, "referredModerationStatus": &f.ReferredModeration,
	} {
		if text := q.Get(name); text != "" && err == nil {
			*status, err = referral.ParseSideStatus(name, text)
		}
	}
	return f, err
}

// openReferrals is GET /open/referrals: those of one user, for that user.
func (a *API) openReferrals(w http.ResponseWriter, r *http.Request) error {
	caller, err := a.caller(w, r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	if err := mayList(caller, q); err != nil {
		return err
	}
	p, err := page(q)
	if err != nil {
		return err
	}
	f, err := referralFilter(q, p)
	if err != nil {
		return err
	}
	found, total, err := a.Engine.Referrals(r.Context(), caller.Tenant.Alias, f)
	if err != nil {
		return err
	}
	if !caller.Key {
		forUser(caller, found)
	}
	writeJSON(w, http.StatusOK, wire.Referrals(found, total))
	return nil
}

// mayList refuses a list of referrals that names no user, or another one than
// the caller may ask about.
func mayList(c app.Caller, q url.Values) error {
	err := error(core.Invalid("", "needs referringAccountId and referringUserId, or referredAccountId and referredUserId"))
	for _, side := range []string{"referring", "referred"} {
		account, user := q.Get(side+"AccountId"), q.Get(side+"UserId")
		if account == "" || user == "" {
			continue
		}
		if err = c.May(auth.ListReferrals, core.AccountID(account), core.UserID(user)); err == nil {
			return nil
		}
	}
	return err
}

// forUser leaves of the referrals what the caller may see of others.
func forUser(c app.Caller, found []referral.Referral) {
	var self wire.Subject
	if c.User != nil {
		self = *c.User
	}
	for i, r := range found {
		found[i] = r.SeenBy(self.Account, self.User)
	}
}

// referral is GET /referrals/{id}.
func (a *API) referral(w http.ResponseWriter, r *http.Request) error {
	caller, err := a.keyHolder(w, r)
	if err != nil {
		return err
	}
	found, err := a.Engine.Referral(r.Context(), caller.Tenant.Alias, r.PathValue("id"))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.Referral(found))
	return nil
}

// moderate is POST /referrals/moderate.
func (a *API) moderate(w http.ResponseWriter, r *http.Request) error {
	caller, err := a.keyHolder(w, r)
	if err != nil {
		return err
	}
	body, err := readJSON(w, r)
	if err != nil {
		return err
	}
	actions, err := wire.ParseModerations(body)
	if err != nil {
		return err
	}
	if err := a.Engine.Moderate(r.Context(), caller.Tenant.Alias, actions); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, []byte("{}"))
	return nil
}
