// Package overview has the first page of a tenant: its figures against the period before,
// its top referrers, and what waits for a person.
package overview

import (
	"embed"
	"html/template"
	"strings"

	"kith/backend/portal/frame"
	"kith/core/operation"
)

//go:embed page
var files embed.FS

//go:embed asset/chart.js
var chartScript string

//go:embed asset/overview.css
var style string

// Section is the section of the overview.
func Section() *frame.Section {
	library, libraryStyle := frame.Chart()
	return &frame.Section{
		Key: "overview", Title: "Overview", Letter: "o", Needs: operation.ReadPrograms,
		Pages: frame.Pages{
			Files: files, Functions: functions, Style: libraryStyle + "\n" + style, Script: library + "\n" + chartScript,
			Routes: frame.Routes{"GET ": page},
		},
	}
}

var functions = template.FuncMap{"lower": strings.ToLower}
