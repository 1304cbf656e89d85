package overview

import (
	"cmp"
	"strconv"

	"kith/backend/app/statistics"
	"kith/backend/portal/frame"
	"kith/core/analytics"
	"kith/core/operation"
)

// notice is one thing that waits for a person.
type notice struct {
	// Count is a number such as "99+", or empty.
	Count, Title, Explanation string
	// Path leads to the section where it is solved; empty if the caller may not open it.
	Path string
}

// attention returns what waits for a person, the most urgent first.
func attention(v *frame.Visit) (all []notice, err error) {
	found, err := v.Engine.Analytics.Attention(v.Ctx(), v.Caller.Tenant, statistics.Parts{
		Referrals: v.May(operation.ReadReferrals), Integrations: v.May(operation.ReadIntegrations),
	})
	if err != nil {
		return nil, err
	}
	add := func(n int, one, many, explanation, path string) {
		if n > 0 {
			title := many
			if n == 1 {
				title = one
			}
			all = append(all, notice{counted(n), title, explanation, path})
		}
	}
	for _, t := range found.Tanks {
		all = append(all, tankNotice(v, t))
	}
	add(found.FailedGateway, "gateway operation failed", "gateway operations failed",
		"The payment gateway refused a discount, a refund or a code, and Kith does not try it again by itself.", below(v, "integrations", "/gateway"))
	add(found.FailingEndpoints, "webhook endpoint fails", "webhook endpoints fail",
		"It does not accept what Kith sends, or has answered that it is gone. The page of the webhook has the answers.", below(v, "integrations", "/webhooks"))
	add(found.FailedWebhooks, "webhook was not delivered", "webhooks were not delivered",
		"Your server did not accept them at any attempt. Repair the endpoint, then replay them.", below(v, "integrations", "/webhooks"))
	add(found.UndatedTokens, "call was refused: its user token has no exp", "calls were refused: their user tokens have no exp",
		"Let your shop add the time at which a token expires. If a client cannot, ask the operator to accept such tokens: kith tenant set --undated-tokens on.", "")
	add(found.RefusedEvents, "event call was refused in 7 days", "event calls were refused in 7 days",
		"Your shop sent other events with an idempotency key that it had used, such as a refund with that of its purchase. Send them again with a key of their own.", below(v, "people", "/refused"))
	add(found.UnknownCodes, "unknown code was typed in 7 days", "unknown codes were typed in 7 days",
		"No person has them. Perhaps a customer mistyped the code of a friend, and was not referred.", below(v, "referrals", "/unknown"))
	add(found.Pending, "referral waits for a moderator", "referrals wait for a moderator",
		"Their rewards are held until a moderator approves or denies them.", below(v, "referrals", "?moderation=PENDING"))
	return all, nil
}

// tankNotice is the notice of a fuel tank that is low.
func tankNotice(v *frame.Visit, t analytics.TankLevel) notice {
	n := notice{Path: below(v, "programs", "/"+string(t.Program)+"/codes")}
	of := " of " + cmp.Or(t.ProgramName, string(t.Program)) + " for the " + t.Side
	switch {
	case t.Due > 0:
		n.Count, n.Title = counted(t.Due), "rewards wait for a code: the fuel tank"+of+" is empty"
		if t.Due == 1 {
			n.Title = "reward waits for a code: the fuel tank" + of + " is empty"
		}
		n.Explanation = "Add codes: the rewards that wait are given at once."
	case t.Available == 0:
		n.Title, n.Explanation = "The fuel tank"+of+" is empty", "Add codes, or the next rewards wait."
	default:
		n.Count, n.Title = strconv.Itoa(t.Available), "codes left: the fuel tank"+of+" is low"
		if t.Available == 1 {
			n.Title = "code left: the fuel tank" + of + " is low"
		}
		n.Explanation = "Add codes before it is empty; then rewards wait."
	}
	return n
}

// below returns a page of a section, or "" if the role may not open it.
func below(v *frame.Visit, section, page string) string {
	if path := frame.PathOf(v, section); path != "" {
		return path + page
	}
	return ""
}

// counted returns a number of an Attention, which stops counting.
func counted(n int) string {
	if n >= analytics.MostAttention {
		return strconv.Itoa(analytics.MostAttention-1) + "+"
	}
	return strconv.Itoa(n)
}
