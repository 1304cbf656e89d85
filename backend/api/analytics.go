package api

import (
	"net/http"
	"net/url"
	"strconv"

	"kith/core"
	"kith/core/analytics"
	"kith/core/link"
	"kith/core/wire"
)

func (a *API) analyticsRoutes() routes {
	return routes{
		"/a/{tenant}/visit":                    {"POST": a.visited},
		"/a/{tenant}/widgets/analytics/loaded": {"POST": a.widgetUsed(analytics.Loaded)},
		"/a/{tenant}/widgets/analytics/shared": {"POST": a.widgetUsed(analytics.Shared)},
		tenantPath + "/analytics":              {"GET": a.keyed(a.analytics)},
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
		if key := q.Get("programId"); key != "" {
			event.Program, err = core.ParseProgramKey("programId", key)
		}
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
	if err := a.Engine.Analytics.Count(r.Context(), alias, event); err != nil {
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
	if f.From, err = date(q, "from"); err != nil {
		return f, err
	}
	f.Until, err = date(q, "until")
	return f, err
}

// date reads a query parameter in epoch milliseconds. It returns 0 if the parameter is
// missing or empty.
func date(q url.Values, name string) (core.Time, error) {
	text := q.Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, core.Invalid(name, "must be a time in epoch milliseconds")
	}
	return core.Time(n), nil
}
