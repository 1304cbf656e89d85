package demo

import (
	"cmp"
	"io"
	"net/http"

	"kith/backend/app"
	"kith/backend/app/base"
	"kith/backend/app/widgets"
	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/auth"
	"kith/core/widget"
	"kith/core/wire"
)

// WidgetPath is the path of the referrer's widget.
const WidgetPath = "/widget"

// showWidget serves the widget of the demo's referrer as a page of its own.
func showWidget(e *app.Engine) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		rendered, err := referrersWidget(e, r)
		if err != nil {
			status, body := wire.Failure(err)
			w.Header().Set("Content-Type", wire.JSONType)
			w.WriteHeader(status)
			_, _ = w.Write(body) // #nosec G705 -- JSON, with the content type of JSON
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'")
		_, _ = io.WriteString(w, rendered.Template)
	}
}

func referrersWidget(e *app.Engine, r *http.Request) (wire.Widget, error) {
	tenant, err := tenantdb.Find(r.Context(), e.DB.Reads, LiveTenant)
	if err != nil {
		return wire.Widget{}, err
	}
	// The edge passes on the host that the visitor requested.
	host := cmp.Or(r.Header.Get(auth.ForwardedHostHeader), r.Host)
	return e.Widgets.Render(r.Context(), LiveTenant, widgets.Request{
		Caller: base.Caller{Tenant: tenant, Key: true}, Account: "anna", User: "anna",
		Type: widget.Type{Program: core.ClassicProgram, Key: widget.Referrer}, EngagementMedium: "HOSTED",
		Base: "http://" + host,
	})
}
