package braintreelab

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"kith/backend/gateway/braintree"
	"kith/backend/gateway/xmltree"
)

// controls are the actions of a person in the gateway's control panel, events at a bank,
// and the clock. They are written to the journal. All accept a form and answer with JSON;
// a browser is redirected to the page.
var controls = map[string]func(*Lab, command) reply{
	"POST /lab/customers":     (*Lab).newCustomer,
	"POST /lab/subscriptions": (*Lab).newSubscription,
	"POST /lab/cancel":        (*Lab).cancelOne,
	"POST /lab/retry":         (*Lab).retryOne,
	"POST /lab/settle":        (*Lab).settleOne,
	"POST /lab/refund":        (*Lab).refundOne,
	"POST /lab/advance":       (*Lab).advance,
	"POST /lab/decline":       (*Lab).decline,
	"POST /lab/dispute":       (*Lab).disputeCharge,
	"POST /lab/settings":      (*Lab).changeSettings,
	"POST /lab/modifications": (*Lab).addModification,
	"POST /lab/keys":          (*Lab).changeKeys,
	"POST /lab/check":         (*Lab).check,
}

func (l *Lab) controlRoutes(mux *http.ServeMux) {
	// Requests from pages of other sites are refused.
	guard := http.NewCrossOriginProtection()
	handle := func(pattern string, h func(*http.Request) error) {
		mux.Handle(pattern, guard.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { l.control(w, r, h) })))
	}
	for call, do := range controls {
		handle(call, func(r *http.Request) error {
			return failureOf(l.perform(command{call: call, body: formBody(r.PostForm)}, do))
		})
	}
	handle("POST /lab/mode", func(r *http.Request) error { return l.setMode(Mode(r.PostForm.Get("mode"))) })
	handle("POST /lab/faults", l.takeFaults)
	handle("POST /lab/webhook", func(r *http.Request) error { return l.Register(r.Context(), r.PostForm.Get("url")) })
	handle("POST /lab/flush", func(r *http.Request) error { l.Flush(r.Context()); return nil })
	mux.HandleFunc("GET /lab/state", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, l.State()) })
	mux.HandleFunc("GET /{$}", l.page)
}

// control parses the form of a control, runs the control, and answers with its result.
func (l *Lab) control(w http.ResponseWriter, r *http.Request, do func(*http.Request) error) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	err := r.ParseForm()
	if err == nil {
		err = do(r)
	}
	if strings.Contains(r.Header.Get("Accept"), "text/html") {
		back := "/"
		if err != nil {
			back = "/?problem=" + url.QueryEscape(err.Error())
		}
		http.Redirect(w, r, back, http.StatusSeeOther)
		return
	}
	if err != nil {
		writeJSON(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	writeJSON(w, http.StatusOK, map[string]time.Time{"now": l.book.now})
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// An error means that the client has closed the connection.
	_ = json.NewEncoder(w).Encode(value)
}

func formBody(form url.Values) *xmltree.Node {
	body := xmltree.Object("request")
	for _, name := range slices.Sorted(maps.Keys(form)) {
		body.Children = append(body.Children, xmltree.Text(xmltree.Snake(name), form.Get(name)))
	}
	return body
}

// said returns the reply of a control; problem is empty on success.
func said(problem string) reply {
	if problem == "" {
		return reply{status: http.StatusOK}
	}
	return reply{http.StatusBadRequest, xmltree.Object("problem", xmltree.Text("message", problem))}
}

// failureOf returns the error in the reply of a control, or of a call that it made.
func failureOf(r reply) error {
	if r.status < 300 {
		return nil
	}
	return errors.New(r.doc.Value("message"))
}

// newCustomer creates a customer with a valid card, and with a coupon if one is given.
func (l *Lab) newCustomer(c command) reply {
	id := c.body.Value("id")
	fields := xmltree.Object("custom_fields")
	if coupon := c.body.Value("coupon"); coupon != "" {
		fields.Children = append(fields.Children, xmltree.Text(l.book.settings.customField, coupon))
	}
	return l.book.createCustomer(command{body: xmltree.Object("request", xmltree.Object("customer",
		xmltree.Text("id", id), xmltree.Text("email", c.body.Value("email")), fields,
		xmltree.Object("credit_card", xmltree.Text("number", goodCard), xmltree.Text("expiration_date", "12/2040"))))})
}

// newSubscription subscribes a customer to a plan, with a trial of some days or the
// merchant's first discount if the form says so.
func (l *Lab) newSubscription(c command) reply {
	owner := l.book.customers.find(c.body.Value("customer"))
	if owner == nil || len(owner.methods) == 0 {
		return said("no such customer, or the customer has no card")
	}
	s := xmltree.Object("subscription", xmltree.Text("id", c.body.Value("id")), xmltree.Text("plan_id", c.body.Value("plan")), xmltree.Text("payment_method_token", owner.methods[0].token))
	if days := c.body.Value("trial_days"); days != "" {
		s.Children = append(s.Children, xmltree.Bool("trial_period", true), xmltree.Text("trial_duration", days), xmltree.Text("trial_duration_unit", "day"))
	}
	if amount := c.body.Value("discount"); amount != "" {
		s.Children = append(s.Children, xmltree.Object("discounts", xmltree.Array("add", xmltree.Object("item",
			xmltree.Text("inherited_from_id", l.options.DiscountID), xmltree.Text("amount", amount)))))
	}
	return l.book.createSubscription(command{body: xmltree.Object("request", s)})
}

func (l *Lab) cancelOne(c command) reply {
	return named(l.book.cancelSubscription(command{id: c.body.Value("subscription")}))
}

// settleOne settles a charge at once, as the sandbox can.
func (l *Lab) settleOne(c command) reply {
	return named(l.book.settle(command{id: c.body.Value("transaction")}))
}

// refundOne refunds the rest of a charge, as the merchant may do by hand.
func (l *Lab) refundOne(c command) reply {
	return named(l.book.refund(command{id: c.body.Value("transaction")}))
}

// retryOne charges a past due subscription, as the merchant may do by hand.
func (l *Lab) retryOne(c command) reply {
	return l.book.createTransaction(command{body: xmltree.Object("request", xmltree.Object("transaction",
		xmltree.Text("subscription_id", c.body.Value("subscription")), xmltree.Object("options", xmltree.Bool("submit_for_settlement", true))))})
}

// named adds a text to a not-found reply: a record that the form names does not exist.
func named(r reply) reply {
	if r.status == http.StatusNotFound {
		return said("no such record")
	}
	return r
}

// maxAdvance bounds one step of the clock.
const maxAdvance = 2 * 366 * 24 * time.Hour

// advance advances the clock: "by" 12h, 3d, 2w, 1m or 1y, or "to" a day. Events that
// are due meanwhile run, each at its time.
func (l *Lab) advance(c command) reply {
	from := l.book.now
	to, err := later(from, c.body.Value("by"), c.body.Value("to"))
	switch {
	case err != nil:
		return said(err.Error())
	case to.Before(from):
		return said("the clock cannot go back")
	case to.Sub(from) > maxAdvance:
		return said("the clock can advance by at most two years at once")
	}
	l.ahead += to.Sub(from)
	l.book.runTo(to)
	return said("")
}

func later(from time.Time, by, to string) (time.Time, error) {
	if to != "" {
		return time.Parse(time.DateOnly, to)
	}
	bad := fmt.Errorf("%q is not a time to advance by; give for example 12h, 3d, 2w, 1m or 1y", by)
	if by == "" {
		return from, bad
	}
	n, err := strconv.Atoi(by[:len(by)-1])
	if err != nil || n < 0 || n > 10000 {
		return from, bad
	}
	switch by[len(by)-1] {
	case 'h':
		return from.Add(time.Duration(n) * time.Hour), nil
	case 'd':
		return from.AddDate(0, 0, n), nil
	case 'w':
		return from.AddDate(0, 0, 7*n), nil
	case 'm':
		return addMonths(day(from), n).Add(from.Sub(day(from))), nil
	case 'y':
		return addMonths(day(from), 12*n).Add(from.Sub(day(from))), nil
	}
	return from, bad
}

// decline makes the cards of a customer decline, or accept again.
func (l *Lab) decline(c command) reply {
	owner := l.book.customers.find(c.body.Value("customer"))
	if owner == nil {
		return said("no such customer")
	}
	for _, m := range owner.methods {
		m.declines = c.body.True("on")
	}
	return said("")
}

func (l *Lab) disputeCharge(c command) reply {
	t := l.book.transactions.find(c.body.Value("transaction"))
	if t == nil {
		return said("no such transaction")
	}
	return said(l.book.dispute(t, c.body.Value("status")))
}

func (l *Lab) changeSettings(c command) reply {
	if c.body.At("prorate") != nil {
		l.book.settings.prorate = c.body.True("prorate")
	}
	if c.body.At("request_keys") != nil {
		l.book.settings.requestKeys = c.body.True("request_keys")
	}
	if c.body.At("retry_days") == nil {
		return said("")
	}
	var retries []int
	for _, text := range strings.Fields(c.body.Value("retry_days")) {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 365 || len(retries) > 0 && n <= retries[len(retries)-1] {
			return said("retry days: want increasing whole numbers, such as 2 5 10")
		}
		retries = append(retries, n)
	}
	l.book.settings.retryDays = retries
	return said("")
}

// addModification puts a discount or an add-on into the catalog.
func (l *Lab) addModification(c command) reply {
	m := &modification{kind: c.body.Value("kind"), id: c.body.Value("id"), name: c.body.Value("id"), placeholder: braintree.Amount(c.body.Value("amount")), quantity: 1}
	if _, err := m.placeholder.Minor("USD"); err != nil || !validID(m.id) || m.kind != discountKind && m.kind != addOnKind || l.book.catalog.find(m.id) != nil {
		return said("modification: want a kind (discount or add_on), a new id, and an amount")
	}
	l.book.catalog.put(m.id, m)
	return said("")
}

// changeKeys adds an API key, which from then on signs together with the older ones, or
// retires the oldest.
func (l *Lab) changeKeys(c command) reply {
	switch c.body.Value("change") {
	case "add":
		id := l.book.id("key")
		l.keys = append(l.keys, braintree.Key{Public: "public-" + id, Private: "private-" + id})
	case "retire":
		if len(l.keys) < 2 {
			return said("the last key cannot be retired")
		}
		l.keys = l.keys[1:]
	default:
		return said("change: want add or retire")
	}
	return said("")
}

// check sends the notification of the gateway's button "Check URL".
func (l *Lab) check(command) reply {
	l.book.notifyCheck()
	return said("")
}

// takeFaults makes the next calls fail; with times 0 it removes all faults.
func (l *Lab) takeFaults(r *http.Request) error {
	times, err := strconv.Atoi(r.PostForm.Get("times"))
	if err != nil {
		times = 1
	}
	if times == 0 {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.faults = nil
		return nil
	}
	return l.addFault(fault{kind: Fault(r.PostForm.Get("kind")), times: times, method: r.PostForm.Get("method"), part: r.PostForm.Get("path"), retryAfter: r.PostForm.Get("retry_after")})
}
