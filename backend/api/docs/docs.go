// Package docs renders the pages that describe the API: one for REST, from the
// OpenAPI document, and one for GraphQL, from the schema. A page is one HTML file
// without script, so that it needs no network and the strictest policy.
package docs

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
)

//go:embed page.html
var pageText string

//go:embed page.css
var styleText string

var pages = template.Must(template.New("page").Funcs(template.FuncMap{
	"markdown": markdown, "indent": indent, "lower": strings.ToLower,
	"style": func() template.CSS { return template.CSS(styleText) }, // #nosec G203 -- our own file
}).Parse(pageText))

// Policy is the Content-Security-Policy of the pages: they load nothing, and have
// the style that stands in them.
var Policy = func() string {
	sum := sha256.Sum256([]byte(styleText))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; img-src data:; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}()

// markdowns renders descriptions. HTML in them is shown as text.
var markdowns = goldmark.New(goldmark.WithExtensions(extension.Table))

func markdown(text string) (template.HTML, error) {
	var out bytes.Buffer
	err := markdowns.Convert([]byte(text), &out)
	return template.HTML(out.String()), err // #nosec G203 -- goldmark leaves out raw HTML
}

// indent lays out JSON for people; other text stays as it is.
func indent(text string) string {
	var out bytes.Buffer
	if json.Indent(&out, []byte(text), "", "  ") != nil {
		return text
	}
	return out.String()
}

func render(name string, data any) ([]byte, error) {
	var out bytes.Buffer
	err := pages.ExecuteTemplate(&out, name, data)
	return out.Bytes(), err
}
