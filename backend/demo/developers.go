package demo

import (
	_ "embed"
	"html/template"
	"net/http"

	"kith/core"
)

// DevelopersPath is the page with what a developer needs to call the demo.
const DevelopersPath = "/developers"

//go:embed developers.html
var developersHTML string

var developers = template.Must(template.New("developers").Parse(developersHTML))

// Developers is what the page for developers shows.
type Developers struct {
	// Edge, Backend, Lab and StripeLab are base URLs. That of a lab is empty if it is off.
	Edge, Backend, Lab, StripeLab string
	// Data is the data folder.
	Data string
	// SFTP is the command that connects to the SFTP server, or empty if it is off.
	SFTP string
	// Owner is the address with which the first owner signs in to the portal.
	Owner string
}

// Tenants are the demo tenants with their keys.
func (Developers) Tenants() map[core.TenantAlias]string {
	return map[core.TenantAlias]string{LiveTenant: LiveKey, TestTenant: TestKey}
}

// ShareLink and Code are examples of a link and of a code.
func (d Developers) ShareLink() string {
	return d.Edge + "/s/" + string(LiveTenant) + "/" + string(ShopCode) + "?rsShareMedium=FACEBOOK"
}

// Lookup is a command that looks a code up.
func (d Developers) Lookup() string {
	return "curl -u :" + LiveKey + " " + d.Edge + "/api/v1/" + string(LiveTenant) + "/code/" + string(Code)
}

// GraphQL is the page for writing queries.
func (d Developers) GraphQL() string { return d.Edge + "/api/v1/" + string(LiveTenant) + "/graphql" }

// WidgetURL is the page with the widget of a referrer.
func (d Developers) WidgetURL() string { return d.Edge + WidgetPath }

// ServeHTTP serves the page.
func (d Developers) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	_ = developers.Execute(w, d)
}
