package api

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"

	"kith/core"
	"kith/core/wire"
)

// GraphiQL is the page of that name, in which a developer writes and runs GraphQL. It is
// for development only: with it, introspection needs no credentials.
type GraphiQL struct {
	// Headers are the headers that the page of a tenant sends unless its user changes
	// them: a JSON object, such as the credentials of a demo tenant. A tenant without
	// an entry has no such headers.
	Headers map[core.TenantAlias]string
}

//go:embed graphiql.html
var graphiQLPage string

//go:embed graphiql.js
var graphiQLScript []byte

// thirdParty has the third-party files that the page loads, in gzip, and their licences.
//
//go:embed graphiql/third_party
var thirdParty embed.FS

// graphiQLFiles maps the names of the files in URLs to their paths in thirdParty.
var graphiQLFiles = map[string]string{
	"graphiql.css": "graphiql/graphiql.min.css.gz",
	"graphiql.js":  "graphiql/graphiql.min.js.gz",
	"react.js":     "react/react.production.min.js.gz",
	"react-dom.js": "react-dom/react-dom.production.min.js.gz",
}

var graphiQLTemplate = template.Must(template.New("graphiql").Parse(graphiQLPage))

// graphiQLPolicy is the Content-Security-Policy of the page: it may load files and call
// the API of this server only. The editor needs inline styles.
const graphiQLPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src data:; font-src data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func (a *API) graphiQLRoutes() routes {
	if a.GraphiQL == nil {
		return nil
	}
	return routes{
		tenantPath + "/graphql":        {"GET": a.graphiQL, "POST": a.graphQL},
		tenantPath + "/graphql/{file}": {"GET": a.graphiQLFile},
	}
}

// graphiQL handles GET /graphql: the page, or the query in the URL if it has one.
func (a *API) graphiQL(w http.ResponseWriter, r *http.Request) error {
	if r.URL.Query().Has("query") {
		return a.graphQLByGet(w, r)
	}
	alias, err := core.ParseTenantAlias(r.PathValue("tenant"))
	if err != nil {
		return err
	}
	var page bytes.Buffer
	err = graphiQLTemplate.Execute(&page, struct{ Tenant, Headers string }{string(alias), a.GraphiQL.Headers[alias]})
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", graphiQLPolicy)
	h.Set("Cache-Control", wire.CacheControl)
	_, _ = page.WriteTo(w)
	return nil
}

// graphiQLFile handles GET of a file that the page loads.
func (a *API) graphiQLFile(w http.ResponseWriter, r *http.Request) error {
	name, kind := r.PathValue("file"), "text/javascript; charset=utf-8"
	if name == "graphiql.css" {
		kind = "text/css; charset=utf-8"
	}
	path, packed := graphiQLFiles[name]
	if !packed && name != "page.js" {
		return wire.NoSuchPath()
	}
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Cache-Control", wire.CacheControl)
	if !packed {
		_, _ = w.Write(graphiQLScript)
		return nil
	}
	body, err := thirdParty.ReadFile("graphiql/third_party/" + path)
	if err != nil {
		return err
	}
	h.Set("Vary", "Accept-Encoding")
	return writePacked(w, body, acceptsGzip(r))
}
