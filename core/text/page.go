package text

import "strings"

// page has the texts of the pages that a person gets in place of an error, when a
// share link leads nowhere. They are apart from the catalogs, because the edge
// component has only them.
type page struct {
	// Dead is a link that does not exist, Busy one that was refused by a limit, and
	// Error one that could not be looked up.
	DeadTitle, DeadText   string
	BusyTitle, BusyText   string
	ErrorTitle, ErrorText string
}

// pages are the pages of Languages, in their order.
var pages = [len(Languages)]*page{&englishPage, &germanPage, &frenchPage, &spanishPage, &portuguesePage, &arabicPage}

// Page is an HTML page for a person.
type Page struct {
	Language Tag
	HTML     string
}

// pagePolicy admits the page's own style, by its digest, and nothing else.
const pagePolicy = "default-src 'none'; style-src '" + pageStyleDigest + "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Headers returns the headers of the page, with their names in lower case.
func (p Page) Headers() [4][2]string {
	return [...][2]string{
		{"content-type", "text/html; charset=utf-8"},
		{"content-language", string(p.Language)},
		{"content-security-policy", pagePolicy},
		{"vary", "Accept, Accept-Language"},
	}
}

// pageStyle is the style of the page, and pageStyleDigest its digest, which a test
// computes again.
const (
	pageStyle = ":root{color-scheme:light dark}body{margin:0;min-height:100vh;display:grid;place-items:center;" +
		"font:18px/1.5 system-ui,sans-serif;color:#1c1b22;background:#fff}main{max-width:30em;padding:24px}" +
		"h1{margin:0 0 8px;font-size:26px;line-height:1.25}p{margin:0;color:#5c5b66}" +
		"@media(prefers-color-scheme:dark){body{color:#f3f3f6;background:#1b1b21}p{color:#b4b3be}}"
	pageStyleDigest = "sha256-9/c7dG9B/jmEtb7mQ+XOLkTqwRHNayqHWm3d1ssdSoI="
)

// ErrorPage returns the page for a status of 400 and above in a language that the
// visitor wants; see Wanted.
func ErrorPage(status int, wanted []Tag) Page {
	i, _ := choose(wanted)
	title, text := pages[i].DeadTitle, pages[i].DeadText
	switch {
	case status == 429:
		title, text = pages[i].BusyTitle, pages[i].BusyText
	case status >= 500:
		title, text = pages[i].ErrorTitle, pages[i].ErrorText
	}
	return Page{Language: Languages[i], HTML: `<!doctype html><html lang="` + string(Languages[i]) + `" dir="` + Languages[i].Direction() +
		`"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><meta name="robots" content="noindex"><title>` +
		title + `</title><style>` + pageStyle + `</style></head><body><main><h1>` + title + `</h1><p>` + text + `</p></main></body></html>`}
}

// WantsPage reports whether the client of an Accept header is a browser that shows a
// page to a person: it names text/html, and does not prefer application/json. A client
// that accepts anything gets JSON.
func WantsPage(accept string) bool {
	html, json := 0, 0
	for part := range strings.SplitSeq(accept[:min(len(accept), maxAcceptLanguage)], ",") {
		kind, parameters, _ := strings.Cut(part, ";")
		weight := 1000
		for parameter := range strings.SplitSeq(parameters, ";") {
			if p := strings.TrimSpace(parameter); len(p) > 1 && strings.EqualFold(p[:2], "q=") {
				weight = weightOf(p)
			}
		}
		switch strings.ToLower(strings.TrimSpace(kind)) {
		case "text/html":
			html = max(html, weight)
		case "application/json":
			json = max(json, weight)
		}
	}
	return html > 0 && html >= json
}
