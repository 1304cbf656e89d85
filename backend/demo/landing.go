package demo

import (
	_ "embed"
	"io"
	"net/http"

	"kith/backend/app"
	"kith/backend/demo/shop"
	"kith/core/link"
)

// LandingPath is where share links of the demo tenants lead on a server without the demo
// shop.
const LandingPath = "/welcome"

//go:embed landing.html
var landingHTML string

// Landing serves the pages of a server with the demo tenants and without the demo shop:
// a page at LandingPath that says so, and the referrer's widget.
func Landing(e *app.Engine) *http.ServeMux {
	mux := withWidget(e, LandingPath)
	mux.HandleFunc("GET "+LandingPath, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
		_, _ = io.WriteString(w, landingHTML)
	})
	return mux
}

// Pages serves the demo shop, the page for developers and the referrer's widget.
func Pages(e *app.Engine, s *shop.Shop, d Developers) *http.ServeMux {
	mux := withWidget(e, shop.Path)
	mux.Handle("GET "+DevelopersPath, d)
	s.Register(mux)
	return mux
}

// withWidget redirects / to a page, and serves the referrer's widget at WidgetPath.
func withWidget(e *app.Engine, page string) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		if _, carried := link.Carried(r.URL.RawQuery); carried { // a page of a shop behind a proxy
			http.NotFound(w, r)
			return
		}
		http.Redirect(w, r, page, http.StatusFound)
	})
	mux.HandleFunc("GET "+WidgetPath, showWidget(e))
	return mux
}
