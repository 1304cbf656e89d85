package api

import (
	"context"
	"net/http"

	"kith/backend/store/answerdb"
	"kith/core"
	"kith/core/operation"
	"kith/core/reward"
	"kith/core/wire"
)

func (a *API) rewardRoutes() routes {
	return routes{
		tenantPath + "/reward":                                {"GET": a.keyed(operation.ReadReferrals, a.rewards)},
		tenantPath + "/reward/balance":                        {"GET": a.keyed(operation.ReadReferrals, a.rewardBalances)},
		tenantPath + "/reward/{id}":                           {"GET": a.keyed(operation.ReadReferrals, a.reward)},
		tenantPath + "/reward/{id}/cancel":                    {"POST": a.keyed(operation.CancelReward, a.cancelReward)},
		tenantPath + "/rewards/account/{account}/user/{user}": {"POST": a.keyedUser(operation.GrantReward, created(a.createReward))},
		tenantPath + "/credit/{id}/redeem":                    {"POST": a.keyed(operation.RedeemCredit, a.redeemReward)},
		tenantPath + "/credit/bulkredeem":                     {"POST": a.keyed(operation.RedeemCredit, a.redeemCredit)},
	}
}

// rewardsOf reads the query parameters of a list of rewards: the account, the user and
// the type.
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

// rewards handles GET /reward.
func (a *API) rewards(c *call) ([]byte, error) {
	f, err := rewardsOf(c.Request)
	if err != nil {
		return nil, err
	}
	// Clients of this list do not page, so the default limit is the maximum.
	if f.Limit, err = count(c.URL.Query(), "limit", maxLimit, maxLimit); err != nil {
		return nil, err
	}
	if f.Offset, err = count(c.URL.Query(), "offset", 0, maxOffset); err != nil {
		return nil, err
	}
	found, _, err := a.Engine.Rewards.List(c.Context(), c.tenant, f)
	return encode(wire.Rewards)(found, err)
}

// rewardBalances handles GET /reward/balance.
func (a *API) rewardBalances(c *call) ([]byte, error) {
	f, err := rewardsOf(c.Request)
	if err != nil {
		return nil, err
	}
	return encode(wire.RewardBalances)(a.Engine.Rewards.Balances(c.Context(), c.tenant, f.Account, f.User, f.Kind))
}

// reward handles GET /reward/{id}.
func (a *API) reward(c *call) ([]byte, error) {
	return encode(wire.Reward)(a.Engine.Rewards.ByID(c.Context(), c.tenant, c.PathValue("id")))
}

// rewardAnswer is the answer of a call about one reward.
func rewardAnswer(r reward.Reward) answerdb.Answer {
	return answerdb.Answer{Account: r.Account, User: r.User, JSON: wire.Reward(r)}
}

// cancelReward handles POST /reward/{id}/cancel. The body may be empty; older clients send
// none.
func (a *API) cancelReward(c *call) ([]byte, error) {
	body, err := readOptional(c)
	if err != nil {
		return nil, err
	}
	reason, err := wire.ParseCancellation(body)
	if err != nil {
		return nil, err
	}
	return once(a, c, body, rewardAnswer, func(ctx context.Context) (reward.Reward, error) {
		return a.Engine.Rewards.Cancel(ctx, c.member(), c.PathValue("id"), reason)
	})
}

// createReward handles POST /rewards/account/{account}/user/{user}.
func (a *API) createReward(c *call) ([]byte, error) {
	body, err := readJSON(c.w, c.Request)
	if err != nil {
		return nil, err
	}
	grant, err := wire.ParseReward(c.account, c.user, body)
	if err != nil {
		return nil, err
	}
	return once(a, c, body, rewardAnswer, func(ctx context.Context) (reward.Reward, error) {
		return a.Engine.Admin.Users.Grant(ctx, c.member(), grant)
	})
}

// redeemReward handles POST /credit/{id}/redeem.
func (a *API) redeemReward(c *call) ([]byte, error) {
	return a.redeem(c, func(body []byte) (reward.Draw, error) { return wire.ParseRedemption(c.PathValue("id"), body) })
}

// redeemCredit handles POST /credit/bulkredeem.
func (a *API) redeemCredit(c *call) ([]byte, error) { return a.redeem(c, wire.ParseBulkRedemption) }

// redeem redeems credit as the body of a call says.
func (a *API) redeem(c *call, parse func([]byte) (reward.Draw, error)) ([]byte, error) {
	body, err := readJSON(c.w, c.Request)
	if err != nil {
		return nil, err
	}
	draw, err := parse(body)
	if err != nil {
		return nil, err
	}
	answer := func(done reward.Redemption) answerdb.Answer { return answerdb.Answer{JSON: wire.Redemption(done)} }
	return once(a, c, body, answer, func(ctx context.Context) (reward.Redemption, error) {
		return a.Engine.Redemptions.Draw(ctx, c.tenant, draw)
	})
}
