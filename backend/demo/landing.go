package demo

import (
	_ "embed"
	"html/template"
	"net/http"
	"strings"
	"time"

	"kith/backend/app"
	"kith/core"
	"kith/core/link"
)

//go:embed landing.html
var landingHTML string

var landing = template.Must(template.New("landing").Parse(landingHTML))

// visit is the data that the landing page shows.
type visit struct {
	Parameters []parameter
	Cookies    []cookie
}

type parameter struct{ Name, Value string }

type cookie struct {
	Tenant  core.TenantAlias
	Problem string
	link.Attribution
	Ago time.Duration
}

// Landing serves the demo's landing page at LandingPath, redirects / to it, and serves
// the referrer's widget at WidgetPath. The landing page shows the code, the medium and
// the cookie of the visit.
func Landing(e *app.Engine) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, LandingPath, http.StatusFound)
	})
	mux.HandleFunc("GET "+LandingPath, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
		_ = landing.Execute(w, visitOf(e, r))
	})
	mux.HandleFunc("GET "+WidgetPath, showWidget(e))
	return mux
}

func visitOf(e *app.Engine, r *http.Request) visit {
	var a visit
	query := r.URL.Query()
	for _, name := range []string{link.CodeParameter, link.ShareMediumParameter, link.EngagementMediumParameter} {
		a.Parameters = append(a.Parameters, parameter{name, query.Get(name)})
	}
	header := strings.Join(r.Header.Values("Cookie"), "; ")
	for _, tenant := range []core.TenantAlias{LiveTenant, TestTenant} {
		text := link.FindCookie(tenant, header)
		if text == "" {
			continue
		}
		c := cookie{Tenant: tenant}
		visit, err := link.ParseAttribution(e.Keys.Cookie(tenant), text)
		if err == nil {
			err = visit.Fresh(link.DefaultCookieLife, e.Now())
		}
		if err != nil {
			c.Problem = err.Error()
		} else {
			c.Attribution = visit
			c.Ago = time.Duration(e.Now()-visit.Visited) * time.Millisecond
		}
		a.Cookies = append(a.Cookies, c)
	}
	return a
}
