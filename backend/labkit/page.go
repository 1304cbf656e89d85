package labkit

import (
	_ "embed"
	"html/template"
	"net/http"
	"slices"
	"time"
)

//go:embed frame.html
var frameHTML string

// Frame is the data of the parts of a page that all labs have.
type Frame struct {
	Title string
	Now   time.Time
	// Problem is the error of the last control.
	Problem string
	Mode    Mode
	Faults  int
	Calls   []Call
}

// Modes returns the modes that the page offers.
func (Frame) Modes() []Mode { return modes }

// Kinds returns the faults that the page offers.
func (Frame) Kinds() []Fault { return kinds }

// Page parses the page of a lab, which uses the templates of frame.html.
func Page(text string, funcs template.FuncMap) *template.Template {
	return template.Must(template.Must(template.New("page").Funcs(funcs).Parse(frameHTML)).Parse(text))
}

// WritePage writes a page, whose forms may lead to the given sources.
func WritePage(w http.ResponseWriter, t *template.Template, data any, forms string) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action "+forms+"; frame-ancestors 'none'")
	_ = t.Execute(w, data)
}

// shown is how many of each kind of record the page shows.
const shown = 50

// Newest returns the last records for the page, newest first.
func Newest[T any](all []T) []T {
	all = slices.Clone(all)
	slices.Reverse(all)
	return all[:min(len(all), shown)]
}
