package stripelab

import (
	_ "embed"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"time"
)

//go:embed page.html
var pageHTML string

//go:embed checkout.html
var checkoutHTML string

var (
	pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
		"money": pretty,
		"time":  func(unix any) string { n, _ := unix.(int64); return moment(n) },
	}).Parse(pageHTML))
	checkoutTemplate = template.Must(template.New("checkout").Funcs(template.FuncMap{"money": pretty}).Parse(checkoutHTML))
)

func moment(unix int64) string {
	if unix == 0 {
		return ""
	}
	return time.Unix(unix, 0).UTC().Format("2006-01-02 15:04")
}

// view is the data of the page: the records, newest first, and the error of the last
// control.
type view struct {
	Now                                                               time.Time
	Mode                                                              Mode
	Modes                                                             []Mode
	Kinds                                                             []Fault
	Faults                                                            int
	Problem                                                           string
	Secret                                                            string
	Keys                                                              []KeyState
	Customers, Subscriptions, Invoices, Charges, Sessions, Promotions []object
	Links, Endpoints                                                  []object
	Deliveries                                                        []Delivery
	Calls                                                             []Call
}

// shown is how many of each kind of record the page shows.
const shown = 50

func (l *Lab) page(w http.ResponseWriter, r *http.Request) {
	state := l.State()
	v := view{
		Now: state.Now, Mode: state.Mode, Modes: modes, Kinds: kinds, Faults: state.Faults, Problem: r.URL.Query().Get("problem"), Secret: SecretKey, Keys: state.Keys,
		Deliveries: newest(state.Deliveries), Calls: newest(state.Calls),
	}
	l.mu.Lock()
	for kind, into := range map[string]*[]object{
		"customer": &v.Customers, "subscription": &v.Subscriptions, "invoice": &v.Invoices, "charge": &v.Charges, "checkout.session": &v.Sessions, "promotion_code": &v.Promotions,
		"payment_link": &v.Links, "webhook_endpoint": &v.Endpoints,
	} {
		for _, o := range newest(l.book.table(kind)) {
			*into = append(*into, l.shown(o))
		}
	}
	l.mu.Unlock()
	writePage(w, pageTemplate, v)
}

// shown copies a record for the page, with what the page needs of the lab's own fields.
func (l *Lab) shown(o object) object {
	copied, _ := clone(o).(object)
	switch o.kind() {
	case "customer":
		for _, method := range l.book.where("payment_method", "customer", o.id()) {
			copied["declines"] = method.text("_decline") != ""
		}
	case "subscription":
		copied["trial"] = moment(o.num("trial_end"))
		copied["end"] = moment(o.objects("items")[0].num("current_period_end"))
		copied["what"] = l.book.nameOf(o.objects("items")[0].at("price"))
	case "charge":
		copied["disputes"] = false
		for _, d := range l.book.where("dispute", "charge", o.id()) {
			copied["disputes"] = open(d)
		}
	case "webhook_endpoint":
		copied["secret"] = o.text("_secret")
	}
	return copied
}

func newest[T any](all []T) []T {
	slices.Reverse(all)
	return all[:min(len(all), shown)]
}

func writePage(w http.ResponseWriter, t *template.Template, data any) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	_ = t.Execute(w, data)
}

// checkoutRoutes are the pages on which customers pay.
func (l *Lab) checkoutRoutes(mux *http.ServeMux) {
	guard := http.NewCrossOriginProtection()
	mux.HandleFunc("GET /c/pay/{id}", l.showCheckout)
	mux.Handle("POST /c/pay/{id}", guard.Handler(http.HandlerFunc(l.payCheckout)))
	mux.HandleFunc(linkCall, func(w http.ResponseWriter, r *http.Request) {
		c, err := l.read(w, r, linkCall)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		a := l.perform(c)
		if c.failed != nil {
			http.Error(w, c.failed.message, c.failed.status)
			return
		}
		http.Redirect(w, r, a.location, http.StatusSeeOther)
	})
}

// checkoutView is the data of the hosted page.
type checkoutView struct {
	Session, Data  object
	Items          []object
	Problem        string
	Email, Name    string
	Code, Currency string
	Fixed          bool
}

func (l *Lab) showCheckout(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	l.live()
	s := l.book.find("checkout.session", r.PathValue("id"))
	if s == nil {
		l.mu.Unlock()
		http.Error(w, "No such checkout session.", http.StatusNotFound)
		return
	}
	q := r.URL.Query()
	v := checkoutView{
		Problem: q.Get("problem"), Email: q.Get("email"), Name: q.Get("name"), Code: q.Get("promotion_code"), Currency: s.text("currency"),
		Fixed: s.text("customer") != "" || s.text("customer_email") != "",
	}
	v.Session, _ = clone(s).(object)
	v.Items, _ = clone(s.objects("_items")).([]object)
	if v.Email == "" {
		v.Email = s.text("_email")
	}
	if v.Fixed {
		if v.Email = s.text("customer_email"); v.Email == "" {
			v.Email = s.at("customer_details").text("email")
		}
	}
	l.mu.Unlock()
	writePage(w, checkoutTemplate, v)
}

func (l *Lab) payCheckout(w http.ResponseWriter, r *http.Request) {
	c, err := l.read(w, r, "POST /c/pay/{id}")
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a := l.perform(c)
	if c.failed == nil {
		http.Redirect(w, r, a.location, http.StatusSeeOther)
		return
	}
	back := url.Values{"problem": {c.failed.message}}
	for _, name := range []string{"email", "name", "promotion_code"} {
		back.Set(name, c.form.str(name))
	}
	http.Redirect(w, r, "/c/pay/"+url.PathEscape(c.id)+"?"+back.Encode(), http.StatusSeeOther)
}
