package api

import (
	"net/http"

	"kith/core"
	"kith/core/reward"
	"kith/core/wire"
)

func (a *API) rewardRoutes() routes {
	return routes{
		tenantPath + "/reward":                                {"GET": a.rewards},
		tenantPath + "/reward/balance":                        {"GET": a.rewardBalances},
		tenantPath + "/reward/{id}":                           {"GET": a.reward},
		tenantPath + "/reward/{id}/cancel":                    {"POST": a.cancelReward},
		tenantPath + "/rewards/account/{account}/user/{user}": {"POST": a.createReward},
		tenantPath + "/credit/{id}/redeem":                    {"POST": a.redeemReward},
		tenantPath + "/credit/bulkredeem":                     {"POST": a.redeemCredit},
	}
}

// rewardsOf reads what a list of rewards is asked for: of whom, and of which
// type.
func rewardsOf(r *http.Request) (f reward.Filter, err error) {
	q := r.URL.Query()
	if f.Account, err = core.ParseAccountID("accountId", q.Get("accountId")); err != nil {
		return f, err
	}
	f.User = core.UserID(q.Get("userId"))
	if kind := q.Get("rewardTypeFilter"); kind != "" {
		f.Kind, err = reward.ParseKind("rewardTypeFilter", kind)
	}
	return f, err
}

// rewards is GET /reward.
func (a *API) rewards(w http.ResponseWriter, r *http.Request) error {
	caller, err := a.keyHolder(w, r)
	if err != nil {
		return err
	}
	f, err := rewardsOf(r)
	if err != nil {
		return err
	}
	// Clients of this list know of no pages: they get all that one may have.
	if f.Limit, err = count(r.URL.Query(), "limit", maxLimit, maxLimit); err != nil {
		return err
	}
	if f.Offset, err = count(r.URL.Query(), "offset", 0, maxOffset); err != nil {
		return err
	}
	found, _, err := a.Engine.Rewards(r.Context(), caller.Tenant.Alias, f)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.Rewards(found))
	return nil
}

// rewardBalances is GET /reward/balance.
func (a *API) rewardBalances(w http.ResponseWriter, r *http.Request) error {
	caller, err := a.keyHolder(w, r)
	if err != nil {
		return err
	}
	f, err := rewardsOf(r)
	if err != nil {
		return err
	}
	balances, err := a.Engine.Balances(r.Context(), caller.Tenant.Alias, f.Account, f.User, f.Kind)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.RewardBalances(balances))
	return nil
}

// reward is GET /reward/{id}.
func (a *API) reward(w http.ResponseWriter, r *http.Request) error {
	caller, err := a.keyHolder(w, r)
	if err != nil {
		return err
	}
	found, err := a.Engine.Reward(r.Context(), caller.Tenant.Alias, r.PathValue("id"))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.Reward(found))
	return nil
}

// cancelReward is POST /reward/{id}/cancel. It takes no body.
func (a *API) cancelReward(w http.ResponseWriter, r *http.Request) error {
	caller, err := a.keyHolder(w, r)
	if err != nil {
		return err
	}
	cancelled, err := a.Engine.CancelReward(r.Context(), caller.Tenant.Alias, r.PathValue("id"))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.Reward(cancelled))
	return nil
}

// createReward is POST /rewards/account/{account}/user/{user}.
func (a *API) createReward(w http.ResponseWriter, r *http.Request) error {
	caller, err := a.keyHolder(w, r)
	if err != nil {
		return err
	}
	account, user, err := userIDs(r)
	if err != nil {
		return err
	}
	body, err := readJSON(w, r)
	if err != nil {
		return err
	}
	grant, err := wire.ParseReward(account, user, body)
	if err != nil {
		return err
	}
	created, err := a.Engine.CreateReward(r.Context(), caller.Tenant.Alias, grant)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusCreated, wire.Reward(created))
	return nil
}

// redeemReward is POST /credit/{id}/redeem.
func (a *API) redeemReward(w http.ResponseWriter, r *http.Request) error {
	return a.redeem(w, r, func(body []byte) (reward.Draw, error) { return wire.ParseRedemption(r.PathValue("id"), body) })
}

// redeemCredit is POST /credit/bulkredeem.
func (a *API) redeemCredit(w http.ResponseWriter, r *http.Request) error {
	return a.redeem(w, r, wire.ParseBulkRedemption)
}

func (a *API) redeem(w http.ResponseWriter, r *http.Request, parse func([]byte) (reward.Draw, error)) error {
	caller, err := a.keyHolder(w, r)
	if err != nil {
		return err
	}
	body, err := readJSON(w, r)
	if err != nil {
		return err
	}
	draw, err := parse(body)
	if err != nil {
		return err
	}
	done, err := a.Engine.Redeem(r.Context(), caller.Tenant.Alias, draw)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.Redemption(done))
	return nil
}
