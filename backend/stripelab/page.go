package stripelab

import (
	_ "embed"
	"html/template"
	"net/http"
	"net/url"
	"time"

	"kith/backend/labkit"
)

//go:embed page.html
var pageHTML string

//go:embed checkout.html
var checkoutHTML string

var (
	pageTemplate = labkit.Page(pageHTML, template.FuncMap{
		"money": pretty,
		"time":  func(unix any) string { n, _ := unix.(int64); return moment(n) },
	})
	checkoutTemplate = template.Must(template.New("checkout").Funcs(template.FuncMap{"money": pretty}).Parse(checkoutHTML))
)

func moment(unix int64) string {
	if unix == 0 {
		return ""
	}
	return time.Unix(unix, 0).UTC().Format("2006-01-02 15:04")
}

// view is the data of the page: the records, newest first.
type view struct {
	Frame                                                             labkit.Frame
	Secret                                                            string
	Keys                                                              []KeyState
	Customers, Subscriptions, Invoices, Charges, Sessions, Promotions []object
	Links, Endpoints                                                  []object
	Deliveries                                                        []Delivery
}

func (l *Lab) page(w http.ResponseWriter, r *http.Request) {
	state := l.State()
	v := view{Secret: SecretKey, Keys: state.Keys, Deliveries: labkit.Newest(state.Deliveries)}
	v.Frame = labkit.Frame{Title: "Stripe lab", Now: state.Now, Problem: r.URL.Query().Get("problem"), Mode: state.Mode, Faults: state.Faults, Calls: labkit.Newest(state.Calls)}
	l.mu.Lock()
	for kind, into := range map[string]*[]object{
		"customer": &v.Customers, "subscription": &v.Subscriptions, "invoice": &v.Invoices, "charge": &v.Charges, "checkout.session": &v.Sessions, "promotion_code": &v.Promotions,
		"payment_link": &v.Links, "webhook_endpoint": &v.Endpoints,
	} {
		for _, o := range labkit.Newest(l.book.table(kind)) {
			*into = append(*into, l.shown(o))
		}
	}
	l.mu.Unlock()
	labkit.WritePage(w, pageTemplate, v, "'self'")
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

// checkoutRoutes are the pages on which customers pay.
func (l *Lab) checkoutRoutes(mux *http.ServeMux) {
	guard := http.NewCrossOriginProtection()
	mux.HandleFunc("GET /c/pay/{id}", l.showCheckout)
	mux.Handle("POST /c/pay/{id}", guard.Handler(http.HandlerFunc(l.payCheckout)))
	mux.HandleFunc(linkCall, func(w http.ResponseWriter, r *http.Request) {
		c, err := l.read(r, linkCall)
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
	Session        object
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
	if v.Fixed {
		if v.Email = s.text("customer_email"); v.Email == "" {
			v.Email = s.at("customer_details").text("email")
		}
	}
	l.mu.Unlock()
	// After the payment the browser continues at the shop.
	labkit.WritePage(w, checkoutTemplate, v, "*")
}

func (l *Lab) payCheckout(w http.ResponseWriter, r *http.Request) {
	c, err := l.read(r, "POST /c/pay/{id}")
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
