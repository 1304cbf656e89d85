package braintreelab

import (
	_ "embed"
	"html/template"
	"net/http"
	"slices"
)

//go:embed page.html
var pageHTML string

var pageTemplate = template.Must(template.New("page").Parse(pageHTML))

// view is the data of the page: the state, newest first, and the error of the last
// control.
type view struct {
	State
	Problem string
	Modes   []Mode
	Kinds   []Fault
}

// shown is how many of each kind of record the page shows.
const shown = 50

func (l *Lab) page(w http.ResponseWriter, r *http.Request) {
	v := view{
		State: l.State(), Problem: r.URL.Query().Get("problem"), Modes: []Mode{Normal, Duplicate, Reorder, Stale, Hold, Drop},
		Kinds: []Fault{TooMany, Unavailable, Broken, Silent, Lost, Cut, InFlight},
	}
	v.Customers, v.Subscriptions, v.Transactions = newest(v.Customers), newest(v.Subscriptions), newest(v.Transactions)
	v.Notifications, v.Calls = newest(v.Notifications), newest(v.Calls)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'")
	_ = pageTemplate.Execute(w, v)
}

func newest[T any](all []T) []T {
	slices.Reverse(all)
	return all[:min(len(all), shown)]
}
