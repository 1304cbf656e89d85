package api

import (
	"bytes"
	_ "embed"
	"html/template"
	"io/fs"
	"net/http"

	"kith/core"
	"kith/core/wire"
)

// GraphiQL is the page of that name, in which GraphQL is written and run. It is
// for development: it lets anybody ask for the schema.
type GraphiQL struct {
	// Files are what make graphiql fetches: graphiql.js, graphiql.css, react.js
	// and react-dom.js. Without them the page says how to get them.
	Files fs.FS
	// Headers are what the page of a tenant sends, unless its user says
	// otherwise: a JSON object, with the credentials of a demo tenant.
	Headers map[core.TenantAlias]string
}

//go:embed graphiql.html
var graphiQLPage string

//go:embed graphiql.js
var graphiQLScript []byte

var graphiQLTemplate = template.Must(template.New("graphiql").Parse(graphiQLPage))

// graphiQLPolicy keeps the page to what it came with. The editor sets styles.
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

// graphiQL is GET /graphql.
func (a *API) graphiQL(w http.ResponseWriter, r *http.Request) error {
	alias, err := core.ParseTenantAlias(r.PathValue("tenant"))
	if err != nil {
		return err
	}
	_, missing := fs.Stat(a.GraphiQL.Files, "graphiql.js")
	var page bytes.Buffer
	err = graphiQLTemplate.Execute(&page, struct {
		Tenant, Headers string
		Built           bool
	}{string(alias), a.GraphiQL.Headers[alias], missing == nil})
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

// graphiQLFile is GET of a file of the page.
func (a *API) graphiQLFile(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("file")
	body, kind := graphiQLScript, "text/javascript; charset=utf-8"
	switch name {
	case "page.js":
	case "graphiql.css":
		kind = "text/css; charset=utf-8"
		fallthrough
	case "graphiql.js", "react.js", "react-dom.js":
		var err error
		if body, err = fs.ReadFile(a.GraphiQL.Files, name); err != nil {
			return wire.NoSuchPath()
		}
	default:
		return wire.NoSuchPath()
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", wire.CacheControl)
	_, _ = w.Write(body)
	return nil
}
