package api

import (
	"net/http"
	"net/url"

	"kith/backend/app/statistics"
	"kith/core"
	"kith/core/analytics"
	"kith/core/link"
	"kith/core/operation"
	"kith/core/wire"
)

func (a *API) analyticsRoutes() routes {
	return routes{
		"/a/{tenant}/visit":                    {"POST": a.visited},
		"/a/{tenant}/widgets/analytics/loaded": {"POST": a.widgetUsed(analytics.Loaded)},
		"/a/{tenant}/widgets/analytics/shared": {"POST": a.widgetUsed(analytics.Shared)},
		tenantPath + "/analytics":              {"GET": a.keyed(operation.ReadPrograms, a.analytics)},
		tenantPath + "/analytics/series":       {"GET": a.keyed(operation.ReadPrograms, a.series)},
		tenantPath + "/analytics/referrers":    {"GET": a.keyed(operation.ReadPrograms, a.topReferrers)},
		tenantPath + "/analytics/attention":    {"GET": a.keyed(operation.ReadPrograms, a.attention)},
	}
}

// visited handles POST /a/{tenant}/visit. The browser script reports a visit when a
// share link led to its page.
func (a *API) visited(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	code, err := core.ParseReferralCode(link.CodeParameter, q.Get(link.CodeParameter))
	if err != nil {
		return err
	}
	event, err := mediums(q, link.EngagementMediumParameter, link.ShareMediumParameter)
	event.Kind, event.Code = analytics.Visited, code
	return a.count(w, r, event, err)
}

// widgetUsed returns the handler that counts one kind of widget event, such as
// "shown" or "shared". The body is ignored: clients send {} or nothing.
func (a *API) widgetUsed(kind analytics.Kind) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		q := r.URL.Query()
		event, err := mediums(q, "engagementMedium", "shareMedium")
		if err != nil {
			return err
		}
		event.Kind = kind
		if event.Account, err = core.ParseAccountID("externalAccountId", q.Get("externalAccountId")); err != nil {
			return err
		}
		if event.User, err = core.ParseUserID("externalUserId", q.Get("externalUserId")); err != nil {
			return err
		}
		event.Program, err = programIn(q)
		return a.count(w, r, event, err)
	}
}

// mediums reads the engagement medium and the share medium from the query parameters
// with these names. Either may be missing.
func mediums(q url.Values, engagement, share string) (e analytics.Event, err error) {
	if e.EngagementMedium, err = analytics.ParseEngagementMedium(engagement, q.Get(engagement), ""); err != nil {
		return e, err
	}
	e.ShareMedium, err = analytics.ParseShareMedium(share, q.Get(share))
	return e, err
}

// count stores an event and answers {}, unless reading the event failed with err.
func (a *API) count(w http.ResponseWriter, r *http.Request, event analytics.Event, err error) error {
	if err != nil {
		return err
	}
	alias, err := core.ParseTenantAlias(r.PathValue("tenant"))
	if err != nil {
		return err
	}
	if err := a.Engine.Analytics.CountFrom(r.Context(), seenAddress(r), alias, event); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.Empty())
	return nil
}

// analytics handles GET /analytics.
func (a *API) analytics(c *call) ([]byte, error) {
	f, err := c.analyticsFilter()
	if err != nil {
		return nil, err
	}
	return encodeBoth(wire.Analytics)(a.Engine.Analytics.List(c.Context(), c.tenant, f))
}

// analyticsFilter reads the query parameters that narrow the counts.
func (c *call) analyticsFilter() (f analytics.Filter, err error) {
	p, err := c.page()
	if err != nil {
		return f, err
	}
	q := c.URL.Query()
	f = analytics.Filter{
		Account: core.AccountID(q.Get("accountId")), User: core.UserID(q.Get("userId")),
		Code: core.ReferralCode(q.Get("code")), Limit: p.Limit, Offset: p.Offset,
	}
	if kind := q.Get("kind"); kind != "" {
		if f.Kind, err = analytics.ParseKind("kind", kind); err != nil {
			return f, err
		}
	}
	f.From, f.Until, err = period(q)
	return f, err
}

// period reads the query parameters from and until.
func period(q url.Values) (from, until core.Time, err error) {
	if from, err = date(q, "from"); err != nil {
		return 0, 0, err
	}
	until, err = date(q, "until")
	return from, until, err
}

// date reads a query parameter with an end of a span; see core.ParseTime and core.Bound. It
// returns 0 if the parameter is missing or empty.
func date(q url.Values, name string) (core.Time, error) {
	text := q.Get(name)
	if text == "" {
		return 0, nil
	}
	t, err := core.ParseTime(name, text)
	return core.Bound(t), err
}

// series handles GET /analytics/series.
func (a *API) series(c *call) ([]byte, error) {
	var in statistics.Range
	var err error
	q := c.URL.Query()
	if in.From, in.Until, err = period(q); err != nil {
		return nil, err
	}
	if in.Interval, err = analytics.ParseInterval("interval", q.Get("interval")); err != nil {
		return nil, err
	}
	f := analytics.SeriesFilter{Code: core.ReferralCode(q.Get("code"))}
	if f.Program, err = programIn(q); err != nil {
		return nil, err
	}
	if f.ShareMedium, err = analytics.ParseShareMedium("shareMedium", q.Get("shareMedium")); err != nil {
		return nil, err
	}
	if f.EngagementMedium, err = analytics.ParseEngagementMedium("engagementMedium", q.Get("engagementMedium"), ""); err != nil {
		return nil, err
	}
	return encode(wire.Series)(a.Engine.Analytics.Series(c.Context(), c.tenant, in, f))
}

// topReferrers handles GET /analytics/referrers.
func (a *API) topReferrers(c *call) ([]byte, error) {
	var in statistics.Range
	var f analytics.TopFilter
	var err error
	q := c.URL.Query()
	if in.From, in.Until, err = period(q); err != nil {
		return nil, err
	}
	if f.By, err = analytics.ParseRank("by", q.Get("by")); err != nil {
		return nil, err
	}
	if f.Program, err = programIn(q); err != nil {
		return nil, err
	}
	if f.ShareMedium, err = analytics.ParseShareMedium("shareMedium", q.Get("shareMedium")); err != nil {
		return nil, err
	}
	if f.Limit, err = count(q, "limit", analytics.UnsetReferrers, analytics.MostReferrers); err != nil {
		return nil, err
	}
	return encodeBoth(wire.TopReferrers)(a.Engine.Analytics.TopReferrers(c.Context(), c.tenant, in, f))
}

// attention handles GET /analytics/attention.
func (a *API) attention(c *call) ([]byte, error) {
	return encode(wire.Attention)(a.Engine.Analytics.Attention(c.Context(), c.tenant, statistics.Parts{Referrals: true, Integrations: true}))
}

// programIn reads the query parameter programId; "" if it is missing.
func programIn(q url.Values) (core.ProgramKey, error) {
	key := q.Get("programId")
	if key == "" {
		return "", nil
	}
	return core.ParseProgramKey("programId", key)
}
