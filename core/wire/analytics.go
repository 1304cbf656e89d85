package wire

import "kith/core/analytics"

// Analytics returns the response to GET /analytics: {count, totalCount, analytics}.
// total is the number of counts on all pages.
func Analytics(page []analytics.Count, total int) []byte {
	return pageOf("analytics", page, total, appendCount)
}

func appendCount(b []byte, c analytics.Count) []byte {
	w := begin(b)
	w.text("kind", string(c.Kind))
	w.number("day", int64(c.Day))
	w.textOrNull("accountId", string(c.Account))
	w.textOrNull("userId", string(c.User))
	w.textOrNull("programId", string(c.Program))
	w.textOrNull("code", string(c.Code))
	w.textOrNull("engagementMedium", string(c.EngagementMedium))
	w.textOrNull("shareMedium", string(c.ShareMedium))
	w.number("times", c.Times)
	return w.end()
}

// Empty returns the body of a response without content, for clients that parse every
// body.
func Empty() []byte { return []byte("{}") }

// Series returns the response to GET /analytics/series: {interval, from, until, points}.
func Series(s analytics.Series) []byte {
	w := begin(nil)
	w.text("interval", string(s.Interval))
	w.number("from", int64(s.From))
	w.number("until", int64(s.Until))
	w.list("points", len(s.Points), func(b []byte, i int) []byte { return appendPoint(b, s.Points[i], s.VisitsOnly) })
	return w.end()
}

// appendPoint appends a point. visitsOnly is true if its referrals and rewards are
// unknown, which is null.
func appendPoint(b []byte, p analytics.Point, visitsOnly bool) []byte {
	w := begin(b)
	w.number("start", int64(p.Start))
	w.number("visits", p.Visits)
	w.number("botVisits", p.BotVisits)
	w.number("agentVisits", p.AgentVisits)
	if visitsOnly {
		w.raw("joined", "null")
		w.raw("converted", "null")
		w.raw("rewardCost", "null")
	} else {
		w.number("joined", p.Joined)
		w.number("converted", p.Converted)
		w.list("rewardCost", len(p.Rewards), func(b []byte, i int) []byte { return appendCost(b, p.Rewards[i]) })
	}
	return w.end()
}

func appendCost(b []byte, c analytics.Cost) []byte {
	w := begin(b)
	w.text("unit", c.Unit)
	w.textOrNull("currency", c.Currency)
	w.number("amount", c.Amount)
	return w.end()
}

// Attention returns the response to GET /analytics/attention.
func Attention(a analytics.Attention) []byte {
	w := begin(nil)
	w.number("pendingReferrals", int64(a.Pending))
	w.number("failedWebhooks", int64(a.FailedWebhooks))
	w.number("failingEndpoints", int64(a.FailingEndpoints))
	w.number("failedGatewayOperations", int64(a.FailedGateway))
	w.number("refusedEvents", int64(a.RefusedEvents))
	w.number("undatedTokens", int64(a.UndatedTokens))
	w.number("unknownCodes", int64(a.UnknownCodes))
	w.list("fuelTanks", len(a.Tanks), func(b []byte, i int) []byte { return appendTankLevel(b, a.Tanks[i]) })
	return w.end()
}

func appendTankLevel(b []byte, t analytics.TankLevel) []byte {
	w := begin(b)
	w.text("programId", string(t.Program))
	w.text("programName", t.ProgramName)
	w.text("side", t.Side)
	w.number("available", int64(t.Available))
	w.number("due", int64(t.Due))
	return w.end()
}

// TopReferrers returns the response to GET /analytics/referrers: {from, until,
// referrers}.
func TopReferrers(all []analytics.Referrer, p analytics.Period) []byte {
	w := begin(nil)
	w.number("from", int64(p.From))
	w.number("until", int64(p.Until))
	w.list("referrers", len(all), func(b []byte, i int) []byte { return appendReferrer(b, all[i]) })
	return w.end()
}

func appendReferrer(b []byte, f analytics.Referrer) []byte {
	w := begin(b)
	w.text("accountId", string(f.Account))
	w.text("userId", string(f.User))
	w.text("firstName", f.FirstName)
	w.text("lastName", f.LastName)
	w.number("visits", f.Visits)
	w.number("joined", f.Joined)
	w.number("converted", f.Converted)
	return w.end()
}
