package api

import (
	"net/http"

	"kith/backend/app"
	"kith/core"
	"kith/core/analytics"
	"kith/core/rules"
	"kith/core/widget"
	"kith/core/wire"
)

func (a *API) widgetRoutes() routes {
	const user = tenantPath + "/widget/account/{account}/user/{user}"
	return routes{
		user + "/upsert":                        {"PUT": a.upsertWidget},
		user + "/render":                        {"GET": a.renderWidget},
		tenantPath + "/widget/user/cookie_user": {"PUT": a.cookieUserWidget},
		tenantPath + "/mail/referralinvite":     {"POST": a.invite},
		tenantPath + "/widgets":                 {"GET": a.widgets},
		tenantPath + "/widgets/{widgetType}":    {"GET": a.widget, "PUT": a.putWidget, "DELETE": a.deleteWidget},
	}
}

// widgetRequest reads which widget a call asks for.
func (a *API) widgetRequest(r *http.Request) (in app.WidgetRequest, err error) {
	q := r.URL.Query()
	in.Base = a.origin(r)
	if in.Type, err = widget.ParseType("widgetType", q.Get("widgetType")); err != nil {
		return in, err
	}
	if in.EngagementMedium, err = analytics.ParseEngagementMedium("engagementMedium", q.Get("engagementMedium"), analytics.Popup); err != nil {
		return in, err
	}
	in.Locale, err = wire.ParseLocale("locale", q.Get("locale"))
	return in, err
}

// upsertWidget is PUT of a user, answered with the user's widget.
func (a *API) upsertWidget(w http.ResponseWriter, r *http.Request) error {
	// A call that asks for no widget that there is stores nothing.
	in, err := a.widgetRequest(r)
	if err != nil {
		return err
	}
	caller, done, err := a.identified(w, r)
	if err != nil {
		return err
	}
	return a.answerWidget(w, r, in, caller, done)
}

// cookieUserWidget is PUT of a user without ids, answered with the user's widget.
func (a *API) cookieUserWidget(w http.ResponseWriter, r *http.Request) error {
	in, err := a.widgetRequest(r)
	if err != nil {
		return err
	}
	caller, done, err := a.cookieIdentified(w, r)
	if err != nil {
		return err
	}
	return a.answerWidget(w, r, in, caller, done)
}

// answerWidget answers with the widget of a user who was just identified.
func (a *API) answerWidget(w http.ResponseWriter, r *http.Request, in app.WidgetRequest, caller app.Caller, done rules.Identified) error {
	in.Caller, in.Account, in.User = caller, done.User.Account, done.User.ID
	rendered, err := a.Engine.RenderWidget(r.Context(), caller.Tenant.Alias, in)
	if err != nil {
		return err
	}
	rendered.User = string(wire.User(done.UserInfo))
	writeJSON(w, http.StatusOK, wire.RenderedWidget(rendered))
	return nil
}

// renderWidget is GET of a user's widget, as older clients ask for it.
func (a *API) renderWidget(w http.ResponseWriter, r *http.Request) error {
	caller, err := a.caller(w, r)
	if err != nil {
		return err
	}
	in, err := a.widgetRequest(r)
	if err != nil {
		return err
	}
	in.Caller = caller
	if in.Account, in.User, err = userIDs(r); err != nil {
		return err
	}
	rendered, err := a.Engine.RenderWidget(r.Context(), caller.Tenant.Alias, in)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.RenderedWidget(rendered))
	return nil
}

// invite is POST of addresses to send a user's link to. Kith sends no mail, and
// says so: a success would have a page tell its user that friends were invited.
func (a *API) invite(w http.ResponseWriter, r *http.Request) error {
	if _, err := a.caller(w, r); err != nil {
		return err
	}
	return &core.Error{Code: core.CodeForbidden, Message: "this service sends no mail; give the share link to whatever does"}
}

// widgets is GET /widgets.
func (a *API) widgets(w http.ResponseWriter, r *http.Request) error {
	caller, _, p, err := a.lister(w, r)
	if err != nil {
		return err
	}
	found, total, err := a.Engine.Widgets(r.Context(), caller.Tenant.Alias, p)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.StoredWidgets(found, total))
	return nil
}

// widgetOf authenticates a request for the widget that its path names.
func (a *API) widgetOf(w http.ResponseWriter, r *http.Request) (app.Caller, widget.Type, error) {
	caller, err := a.keyHolder(w, r)
	if err != nil {
		return caller, widget.Type{}, err
	}
	t, err := widget.ParseType("widgetType", r.PathValue("widgetType"))
	return caller, t, err
}

// widget is GET /widgets/{widgetType}.
func (a *API) widget(w http.ResponseWriter, r *http.Request) error {
	caller, t, err := a.widgetOf(w, r)
	if err != nil {
		return err
	}
	stored, err := a.Engine.Widget(r.Context(), caller.Tenant.Alias, t)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.StoredWidget(stored))
	return nil
}

// putWidget is PUT /widgets/{widgetType}.
func (a *API) putWidget(w http.ResponseWriter, r *http.Request) error {
	caller, t, err := a.widgetOf(w, r)
	if err != nil {
		return err
	}
	body, err := readJSON(w, r)
	if err != nil {
		return err
	}
	update, err := wire.ParseWidget(body)
	if err != nil {
		return err
	}
	stored, err := a.Engine.PutWidget(r.Context(), caller.Tenant.Alias, t, update)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.StoredWidget(stored))
	return nil
}

// deleteWidget is DELETE /widgets/{widgetType}.
func (a *API) deleteWidget(w http.ResponseWriter, r *http.Request) error {
	caller, t, err := a.widgetOf(w, r)
	if err != nil {
		return err
	}
	if err := a.Engine.DeleteWidget(r.Context(), caller.Tenant.Alias, t); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
