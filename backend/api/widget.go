package api

import (
	"net/http"

	"kith/backend/app/base"
	"kith/backend/app/widgets"
	"kith/core"
	"kith/core/analytics"
	"kith/core/operation"
	"kith/core/widget"
	"kith/core/wire"
)

func (a *API) widgetRoutes() routes {
	const user = tenantPath + "/widget/account/{account}/user/{user}"
	return routes{
		user + "/upsert":                        {"PUT": a.identifiedWidget(a.identified, operation.RenderWidget)},
		user + "/render":                        {"GET": a.open(operation.RenderWidget, a.renderWidget)},
		tenantPath + "/widget/user/cookie_user": {"PUT": a.identifiedWidget(a.cookieIdentified, operation.IdentifyCookieUser)},
		tenantPath + "/mail/referralinvite":     {"POST": a.open(operation.InviteFriend, a.invite)},
		tenantPath + "/widgets":                 {"GET": a.keyed(operation.ReadPrograms, with((*call).page, a.widgets))},
		tenantPath + "/widgets/{widgetType}":    {"GET": a.keyed(operation.ReadPrograms, with((*call).widgetType, a.widget)), "PUT": a.keyed(operation.ChangeWidget, with((*call).widgetType, a.putWidget)), "DELETE": a.keyed(operation.ChangeWidget, with((*call).widgetType, a.deleteWidget))},
	}
}

// widgetRequest reads the query parameters that choose a widget.
func (a *API) widgetRequest(r *http.Request) (in widgets.Request, err error) {
	q := r.URL.Query()
	in.Base, in.AcceptLanguage = a.origin(r), r.Header.Get("Accept-Language")
	if in.Type, err = widget.ParseType("widgetType", q.Get("widgetType")); err != nil {
		return in, err
	}
	if in.EngagementMedium, err = analytics.ParseEngagementMedium("engagementMedium", q.Get("engagementMedium"), analytics.Popup); err != nil {
		return in, err
	}
	in.Locale, err = wire.ParseLocale("locale", q.Get("locale"))
	return in, err
}

// identifiedWidget returns the handler of PUT of a user that answers with the user's widget.
func (a *API) identifiedWidget(by identification, op *operation.Operation) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		// Checked first, so that a call with wrong parameters stores nothing.
		in, err := a.widgetRequest(r)
		if err != nil {
			return err
		}
		caller, done, err := by(w, r, op)
		if err != nil {
			return err
		}
		in.Caller, in.Account, in.User = caller, done.User.Account, done.User.ID
		rendered, err := a.Engine.Widgets.Render(r.Context(), caller.Tenant.Alias, in)
		if err != nil {
			return err
		}
		rendered.User = string(wire.User(done.UserInfo))
		writeJSON(w, http.StatusOK, wire.RenderedWidget(rendered))
		return nil
	}
}

// renderWidget handles GET of a user's widget, which older clients use.
func (a *API) renderWidget(c *call) ([]byte, error) {
	in, err := a.widgetRequest(c.Request)
	if err != nil {
		return nil, err
	}
	in.Caller = c.caller
	if in.Account, in.User, err = userIDs(c.Request); err != nil {
		return nil, err
	}
	return encode(wire.RenderedWidget)(a.Engine.Widgets.Render(c.Context(), c.tenant, in))
}

// invite handles POST of addresses to which a user's link is to be sent. Kith sends no
// mail, so it answers 403: after a success the page would confirm to its user that
// friends were invited.
func (a *API) invite(*call) ([]byte, error) {
	return nil, &core.Error{Code: core.CodeForbidden, Message: "this service sends no mail; send the share link with a mail service of your own"}
}

// widgets handles GET /widgets.
func (a *API) widgets(c *call, p base.Page) ([]byte, error) {
	return encodeBoth(wire.StoredWidgets)(a.Engine.Widgets.List(c.Context(), c.tenant, p))
}

// widgetType reads the widget type in the path of a call.
func (c *call) widgetType() (widget.Type, error) {
	return widget.ParseType("widgetType", c.PathValue("widgetType"))
}

// widget handles GET /widgets/{widgetType}.
func (a *API) widget(c *call, t widget.Type) ([]byte, error) {
	return encode(wire.StoredWidget)(a.Engine.Widgets.Stored(c.Context(), c.tenant, t))
}

// putWidget handles PUT /widgets/{widgetType}.
func (a *API) putWidget(c *call, t widget.Type) ([]byte, error) {
	update, err := decode(c, wire.ParseWidget)
	if err != nil {
		return nil, err
	}
	return encode(wire.StoredWidget)(a.Engine.Widgets.Put(c.Context(), c.tenant, t, update))
}

// deleteWidget handles DELETE /widgets/{widgetType}.
func (a *API) deleteWidget(c *call, t widget.Type) ([]byte, error) {
	return nil, a.Engine.Widgets.Delete(c.Context(), c.tenant, t)
}
