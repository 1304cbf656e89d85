package braintreelab

import (
	_ "embed"
	"net/http"

	"kith/backend/labkit"
)

//go:embed page.html
var pageHTML string

var pageTemplate = labkit.Page(pageHTML, nil)

// view is the data of the page: the state, newest first.
type view struct {
	Frame labkit.Frame
	State
}

func (l *Lab) page(w http.ResponseWriter, r *http.Request) {
	s := l.State()
	s.Customers, s.Subscriptions, s.Transactions = labkit.Newest(s.Customers), labkit.Newest(s.Subscriptions), labkit.Newest(s.Transactions)
	s.Notifications = labkit.Newest(s.Notifications)
	labkit.WritePage(w, pageTemplate, view{Frame: labkit.Frame{
		Title: "Gateway lab", Now: s.Now, Problem: r.URL.Query().Get("problem"), Mode: s.Mode, Faults: s.Faults, Calls: labkit.Newest(s.Calls),
	}, State: s}, "'self'")
}
