// Package frame has what all pages of the portal share: the layout, sign-in by session,
// protection against foreign pages, forms, lists and files. It is rendered by the server
// and works without scripts; htmx and asset/portal.js add to it.
//
// A page calls the same use cases as the API. It contains no rule and no SQL: which
// operations a role may perform is checked by the use cases, and a page only leaves out
// what it would not be allowed to show.
package frame

import (
	"html/template"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"

	"kith/backend/app"
	"kith/backend/fault"
	"kith/backend/sparse"
	"kith/core"
	"kith/core/auth"
	"kith/core/link"
)

// Root begins the paths of all pages.
const Root = "/portal"

// Options are the parts of a portal.
type Options struct {
	Engine *app.Engine
	// URL is the origin at which people open the portal, for links that they send to others;
	// it may be empty.
	URL string
	// Log gets one record for each internal error.
	Log *slog.Logger
	// Outside are pages outside of tenants, such as sign-in.
	Outside []*Pages
	// Sections are the sections in the order of the navigation.
	Sections []*Section
}

// Portal serves the pages.
type Portal struct {
	Engine *app.Engine
	URL    string
	Log    *slog.Logger

	sections  []*Section
	mux       *http.ServeMux
	patterns  []string
	templates func() map[string]*template.Template
	assets    map[string]asset
	texts     map[string]string // what a change did, by the name in the parameter done
	failures  sparse.Log
}

// New returns a portal.
func New(o Options) *Portal {
	p := &Portal{
		Engine: o.Engine, URL: strings.TrimSuffix(o.URL, "/"), Log: o.Log, sections: o.Sections, mux: http.NewServeMux(),
		assets: ownAssets(), texts: maps.Clone(doneTexts),
	}
	style := ""
	all := slices.Clone(o.Outside)
	for _, s := range o.Sections {
		all = append(all, &s.Pages)
		if s.Style != "" {
			style += "[data-section=" + s.Key + "] {\n" + s.Style + "\n}\n"
		}
		if s.Script != "" {
			s.script = p.addScript(s.Key, s.Script)
		}
	}
	for _, pages := range all {
		for name, text := range pages.Done {
			if other := p.texts[name]; other != "" && other != text {
				panic("portal: two texts with the name " + name)
			}
			p.texts[name] = text
		}
	}
	p.addStyle(style)
	own := &Pages{Files: files}
	for _, pages := range append(all, own) {
		// Parsed with the first page, since most starts of a process show none: it takes as long
		// as all else in a start.
		pages.templates = sync.OnceValue(func() map[string]*template.Template { return p.parse(pages) })
	}
	p.templates = own.templates
	p.handle("GET "+Root, own, false, start)
	p.handle("GET "+Root+"/{$}", own, false, start)
	p.handle("GET "+Root+"/t/{tenant}", own, false, startTenant)
	for _, pages := range o.Outside {
		for pattern, h := range pages.Routes {
			p.handle(at(pattern, ""), pages, false, h)
		}
	}
	for _, s := range o.Sections {
		base := "/t/{tenant}/" + s.Key
		for pattern, h := range s.Routes {
			p.handle(at(pattern, base), &s.Pages, false, inSection(s, h))
		}
		for pattern, h := range s.Uploads {
			p.handle(at(pattern, base), &s.Pages, true, inSection(s, h))
		}
	}
	return p
}

// Patterns returns the patterns of all pages: a method and a path, with names in braces.
func (p *Portal) Patterns() []string { return p.patterns }

// parse returns the templates of pages by the names of their files without the ending.
// layout.html is around each page, and parts.html has what several pages use.
func (p *Portal) parse(pages *Pages) map[string]*template.Template {
	functions := maps.Clone(functions)
	functions["asset"] = p.assetURL
	maps.Copy(functions, pages.Functions)
	shared := template.Must(template.New("layout.html").Funcs(functions).ParseFS(files, "page/layout.html", "page/parts.html"))
	if _, err := fs.Stat(pages.Files, "page/parts.html"); err == nil && pages.Files != files {
		template.Must(shared.ParseFS(pages.Files, "page/parts.html"))
	}
	names, err := fs.Glob(pages.Files, "page/*.html")
	if err != nil {
		panic(err) // the pattern is correct
	}
	all := map[string]*template.Template{}
	for _, name := range append(names, "page/problem.html") {
		from := pages.Files
		if name == "page/problem.html" {
			from = files
		}
		short := strings.TrimSuffix(strings.TrimPrefix(name, "page/"), ".html")
		if short != "layout" && short != "parts" {
			all[short] = template.Must(template.Must(shared.Clone()).ParseFS(from, name))
		}
	}
	return all
}

// Owns reports whether a path belongs to the portal.
func (p *Portal) Owns(path string) bool { return owns(path) }

func owns(path string) bool { return path == Root || strings.HasPrefix(path, Root+"/") }

// Routes has the handlers of patterns of http.ServeMux: a method and a path below the
// section, or below Root.
type Routes map[string]Handler

// at returns a pattern with its path below Root and base.
func at(pattern, base string) string {
	method, path, _ := strings.Cut(pattern, " ")
	return method + " " + Root + base + path
}

// Handler answers a visit: it writes a page, or returns an error, never both.
type Handler func(*Visit) error

// handle registers a handler. A request that may change anything must be sent by a page of
// the portal; see checkOrigin and checkToken.
func (p *Portal) handle(pattern string, pages *Pages, upload bool, h Handler) {
	p.patterns = append(p.patterns, pattern)
	p.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		v := r.Context().Value(visitKey{}).(*Visit)
		v.W, v.R, v.pages = w, r, pages
		v.failed = v.run(h, upload)
	})
}

// Serve answers a request. seen are the visitor's address, and the scheme and host that
// the visitor requested.
func (p *Portal) Serve(w http.ResponseWriter, r *http.Request, seen auth.Hop) {
	if name, ok := strings.CutPrefix(r.URL.Path, assetPath); ok {
		p.serveAsset(w, r, name)
		return
	}
	v := newVisit(p, w, r, seen)
	if err := fault.Catch(w, v.answer); err != nil {
		v.W = w
		v.fail(err)
	}
}

// answer answers the visit with the page at its path.
func (v *Visit) answer(w http.ResponseWriter) error {
	v.W = w
	if to := v.formOf(v.R); to != "" {
		return v.Redirect(to)
	}
	if _, pattern := v.mux.Handler(v.R); pattern == "" || link.Unclean(v.R.URL.EscapedPath()) {
		// http.ServeMux would answer in plain text.
		if err := v.identify(); err != nil {
			return err
		}
		return core.NotFound("There is no page at this address. It may have moved, or the link is incomplete.")
	}
	v.mux.ServeHTTP(w, v.R)
	return v.failed
}

// formOf returns the path of the page with the form that is sent to the path of a request, if
// a person opens that again, or "".
func (p *Portal) formOf(r *http.Request) string {
	asked := &http.Request{Method: http.MethodPost, URL: &url.URL{Path: r.URL.Path}}
	if _, pattern := p.mux.Handler(asked); r.Method != http.MethodGet || pattern == "" || link.Unclean(r.URL.EscapedPath()) {
		return ""
	}
	for asked.Method = http.MethodGet; asked.URL.Path != Root; asked.URL.Path = path.Dir(asked.URL.Path) {
		if _, pattern := p.mux.Handler(asked); pattern == "" {
			continue
		}
		if asked.URL.Path == r.URL.Path {
			return ""
		}
		return asked.URL.EscapedPath()
	}
	return Root
}
