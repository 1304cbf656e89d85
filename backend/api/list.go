package api

import (
	"net/http"
	"net/url"
	"strconv"

	"kith/backend/program"
	"kith/core"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/wire"
)

// Sizes of a page (reference, 6: REST lists default to 10).
const (
	defaultLimit = 10
	maxLimit     = 1000
)

// page reads limit and offset.
func page(q url.Values) (p program.Page, err error) {
	if p.Limit, err = count(q, "limit", defaultLimit, maxLimit); err != nil {
		return p, err
	}
	p.Offset, err = count(q, "offset", 0, 1<<31)
	return p, err
}

func count(q url.Values, name string, unset, most int) (int, error) {
	text := q.Get(name)
	if text == "" {
		return unset, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > most {
		return 0, core.Invalid(name, "must be a whole number from 0 to "+strconv.Itoa(most))
	}
	return n, nil
}

// lister authenticates a request for a list and reads its query and its page.
func (a *API) lister(r *http.Request) (c program.Caller, q url.Values, p program.Page, err error) {
	if c, err = a.keyHolder(r); err != nil {
		return c, nil, p, err
	}
	q = r.URL.Query()
	p, err = page(q)
	return c, q, p, err
}

// referrals is GET /referrals.
func (a *API) referrals(w http.ResponseWriter, r *http.Request) error {
	caller, q, p, err := a.lister(r)
	if err != nil {
		return err
	}
	found, total, err := a.Engine.Referrals(r.Context(), caller.Tenant.Alias, referral.Filter{
		ReferredAccount: core.AccountID(q.Get("referredAccountId")),
		ReferredUser:    core.UserID(q.Get("referredUserId")),
		ReferrerAccount: core.AccountID(q.Get("referringAccountId")),
		ReferrerUser:    core.UserID(q.Get("referringUserId")),
		Limit:           p.Limit, Offset: p.Offset,
	})
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.Referrals(found, total))
	return nil
}

// referral is GET /referrals/{id}.
func (a *API) referral(w http.ResponseWriter, r *http.Request) error {
	caller, err := a.keyHolder(r)
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

// rewards is GET /reward.
func (a *API) rewards(w http.ResponseWriter, r *http.Request) error {
	caller, err := a.keyHolder(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	account, err := core.ParseAccountID("accountId", q.Get("accountId"))
	if err != nil {
		return err
	}
	kind := reward.Kind(q.Get("rewardTypeFilter"))
	switch kind {
	case "", reward.PercentDiscount, reward.Credit, "FUELTANK", "INTEGRATION":
	default:
		return core.Invalid("rewardTypeFilter", "must be one of PCT_DISCOUNT, CREDIT, FUELTANK, INTEGRATION")
	}
	found, err := a.Engine.Rewards(r.Context(), caller.Tenant.Alias, account, core.UserID(q.Get("userId")), kind)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.Rewards(found))
	return nil
}

// decisions is GET /attributions: why an account was, or was not, attributed.
func (a *API) decisions(w http.ResponseWriter, r *http.Request) error {
	caller, q, p, err := a.lister(r)
	if err != nil {
		return err
	}
	found, total, err := a.Engine.Decisions(r.Context(), caller.Tenant.Alias, core.AccountID(q.Get("accountId")), p)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.Decisions(found, total))
	return nil
}
