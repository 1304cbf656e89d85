package api

import (
	"net/url"

	"kith/backend/app/base"
	"kith/core"
	"kith/core/auth"
	"kith/core/operation"
	"kith/core/referral"
	"kith/core/timeline"
	"kith/core/wire"
)

func (a *API) referralRoutes() routes {
	return routes{
		tenantPath + "/referrals":               {"GET": a.keyed(operation.ReadReferrals, a.referrals)},
		tenantPath + "/referrals/{id}":          {"GET": a.keyed(operation.ReadReferrals, a.referral)},
		tenantPath + "/referrals/{id}/orders":   {"GET": a.keyed(operation.ReadReferrals, with((*call).page, a.orders))},
		tenantPath + "/referrals/{id}/timeline": {"GET": a.keyed(operation.ReadReferrals, a.timeline)},
		tenantPath + "/referrals/moderate":      {"POST": a.keyed(operation.Moderate, with(body(wire.ParseModerations), a.moderate))},
		tenantPath + "/open/referrals":          {"GET": a.open(operation.ReadReferrals, a.openReferrals)},
	}
}

// referrals handles GET /referrals.
func (a *API) referrals(c *call) ([]byte, error) {
	return encodeBoth(wire.Referrals)(a.listReferrals(c))
}

func (a *API) listReferrals(c *call) ([]referral.Referral, int, error) {
	p, err := c.page()
	if err != nil {
		return nil, 0, err
	}
	f, err := referralFilter(c.URL.Query(), p)
	if err != nil {
		return nil, 0, err
	}
	return a.Engine.Referrals.List(c.Context(), c.tenant, f)
}

// referralFilter reads the query parameters that narrow a list of referrals (clients
// 1.4.4).
func referralFilter(q url.Values, p base.Page) (f referral.Filter, err error) {
	f = referral.Filter{
		ReferredAccount: core.AccountID(q.Get("referredAccountId")), ReferredUser: core.UserID(q.Get("referredUserId")),
		ReferrerAccount: core.AccountID(q.Get("referringAccountId")), ReferrerUser: core.UserID(q.Get("referringUserId")),
		Code: core.ReferralCode(q.Get("code")), Program: core.ProgramKey(q.Get("programId")),
		Limit: p.Limit, Offset: p.Offset,
	}
	if text := q.Get("state"); text != "" {
		f.Situation, err = referral.ParseSituation("state", text)
	}
	for name, span := range map[string]*core.Span{
		"dateReferralStarted": &f.Started, "dateReferralPaid": &f.Converted, "dateReferralEnded": &f.Ended,
	} {
		if text := q.Get(name); text != "" && err == nil {
			*span, err = core.ParseSpan(name, text)
		}
	}
	for name, status := range map[string]*referral.SideStatus{
		"moderationStatus": &f.Moderation, "referrerModerationStatus": &f.ReferrerModeration, "referredModerationStatus": &f.ReferredModeration,
	} {
		if text := q.Get(name); text != "" && err == nil {
			*status, err = referral.ParseSideStatus(name, text)
		}
	}
	return f, err
}

// openReferrals handles GET /open/referrals: the referrals of one user, for that user or
// a holder of the API key.
func (a *API) openReferrals(c *call) ([]byte, error) {
	if err := mayList(c.caller, c.URL.Query()); err != nil {
		return nil, err
	}
	found, total, err := a.listReferrals(c)
	if err != nil {
		return nil, err
	}
	if !c.caller.Key {
		forUser(c.caller, found)
	}
	return wire.Referrals(found, total), nil
}

// mayList refuses a list of referrals if the query names no user, or no user whose
// referrals the caller may list.
func mayList(c base.Caller, q url.Values) error {
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

// forUser removes from referrals what the user who calls may not see of other users.
func forUser(c base.Caller, found []referral.Referral) {
	var self wire.Subject
	if c.User != nil {
		self = *c.User
	}
	for i, r := range found {
		found[i] = r.WithoutAddresses(self.Account, self.User)
	}
}

// referral handles GET /referrals/{id}.
func (a *API) referral(c *call) ([]byte, error) {
	return encode(wire.Referral)(a.Engine.Referrals.ByID(c.Context(), c.tenant, c.PathValue("id")))
}

// orders handles GET /referrals/{id}/orders.
func (a *API) orders(c *call, p base.Page) ([]byte, error) {
	return encodeBoth(wire.Orders)(a.Engine.Orders.List(c.Context(), c.tenant, c.PathValue("id"), p.Limit, p.Offset))
}

// timeline handles GET /referrals/{id}/timeline.
func (a *API) timeline(c *call) ([]byte, error) {
	f, err := a.Engine.Referrals.Timeline(c.Context(), c.tenant, c.PathValue("id"))
	if err != nil {
		return nil, err
	}
	return timeline.Wire(f).JSON(), nil
}

// moderate handles POST /referrals/moderate.
func (a *API) moderate(c *call, actions []referral.Moderation) ([]byte, error) {
	return wire.Empty(), a.Engine.Moderation.Apply(c.Context(), c.member(), actions)
}

func (a *API) attributionRoutes() routes {
	return routes{
		tenantPath + "/attributions":         {"GET": a.keyed(operation.ReadReferrals, with((*call).page, a.decisions))},
		tenantPath + "/attributions/unknown": {"GET": a.keyed(operation.ReadReferrals, a.unknownCodes)},
	}
}

// decisions handles GET /attributions: for each code of an account, why the account was
// or was not attributed.
func (a *API) decisions(c *call, p base.Page) ([]byte, error) {
	account := core.AccountID(c.URL.Query().Get("accountId"))
	return encodeBoth(wire.Decisions)(a.Engine.Referrals.Decisions(c.Context(), c.tenant, account, p))
}

// unknownCodes handles GET /attributions/unknown: the codes that people gave and no user owns.
func (a *API) unknownCodes(c *call) ([]byte, error) {
	return encode(wire.UnknownCodes)(a.Engine.Codes.Unknown(c.Context(), c.tenant))
}
