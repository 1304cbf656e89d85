package stripelab

import (
	"cmp"
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
)

// controls are the actions of a person in the gateway's dashboard or on its pages, events
// at a bank, and the clock. They are written to the journal. All accept a form and answer
// with JSON; a browser is redirected to the page.
var controls map[string]func(*Lab, *call) object

func init() {
	controls = map[string]func(*Lab, *call) object{
		"POST /lab/advance":  (*Lab).advance,
		"POST /lab/checkout": (*Lab).paySession,
		"POST /lab/decline":  (*Lab).decline,
		"POST /lab/dispute":  (*Lab).disputeCharge,
		"POST /lab/refund":   (*Lab).refundCharge,
		"POST /lab/cancel":   (*Lab).cancelOne,
		"POST /lab/settings": (*Lab).changeSettings,
		"POST /lab/keys":     (*Lab).addKey,
		"POST /lab/revoke":   (*Lab).revokeKey,
		"POST /lab/roll":     (*Lab).rollSecret,
		"POST /c/pay/{id}":   (*Lab).paySession,
		linkCall:             (*Lab).followLink,
	}
}

func (l *Lab) controlRoutes(mux *http.ServeMux) {
	// Requests from pages of other sites are refused.
	guard := http.NewCrossOriginProtection()
	handle := func(pattern string, h func(*call) (answer, error)) {
		mux.Handle(pattern, guard.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { l.control(w, r, pattern, h) })))
	}
	for name := range controls {
		if strings.HasPrefix(name, "POST /lab/") {
			handle(name, func(c *call) (answer, error) {
				a := l.perform(c)
				if c.failed != nil {
					return a, errors.New(c.failed.message)
				}
				return a, nil
			})
		}
	}
	handle("POST /lab/mode", func(c *call) (answer, error) { return answer{}, l.SetMode(Mode(c.form.str("mode"))) })
	handle("POST /lab/faults", func(c *call) (answer, error) { return answer{}, l.takeFaults(c.form) })
	mux.Handle("POST /lab/flush", guard.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.Flush(r.Context())
		l.writeNow(w, nil)
	})))
	mux.HandleFunc("GET /lab/state", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, l.State()) })
	mux.HandleFunc("GET /{$}", l.page)
}

// control parses the form of a control, runs the control, and answers with its result and
// the time of the lab.
func (l *Lab) control(w http.ResponseWriter, r *http.Request, name string, do func(*call) (answer, error)) {
	c, err := l.read(w, r, name)
	var a answer
	if err == nil {
		a, err = do(c)
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
	l.writeNow(w, a.body)
}

// writeNow answers with the fields of a JSON object and with the time of the lab.
func (l *Lab) writeNow(w http.ResponseWriter, body []byte) {
	fields := map[string]any{}
	if len(body) > 0 {
		// The body is an object that the lab has encoded.
		_ = json.Unmarshal(body, &fields)
	}
	l.mu.Lock()
	fields["now"] = l.book.now
	l.mu.Unlock()
	writeJSON(w, http.StatusOK, fields)
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// An error means that the client has closed the connection.
	_ = json.NewEncoder(w).Encode(value)
}

// maxAdvance bounds one step of the clock.
const maxAdvance = 2 * 366 * 24 * time.Hour

// advance advances the clock: "by" 30s, 12h, 3d, 2w, 1m (months) or 1y, or "to" a day or a
// time. What is due meanwhile runs, each at its time.
func (l *Lab) advance(c *call) object {
	from := l.book.now
	to, err := later(from, c.form.str("by"), c.form.str("to"))
	switch {
	case err != nil:
		return c.refuse(invalid("", "by", err.Error()))
	case to.Before(from):
		return c.refuse(invalid("", "to", "the clock cannot go back"))
	case to.Sub(from) > maxAdvance:
		return c.refuse(invalid("", "by", "the clock can advance by at most two years at once"))
	}
	l.ahead += to.Sub(from)
	l.book.runTo(to, "")
	return object{}
}

func later(from time.Time, by, to string) (time.Time, error) {
	if to != "" {
		if at, err := time.Parse(time.RFC3339, to); err == nil {
			return at.UTC(), nil
		}
		return time.Parse(time.DateOnly, to)
	}
	bad := fmt.Errorf("%q is not a time to advance by; give for example 30s, 12h, 3d, 2w, 1m or 1y", by)
	if by == "" {
		return from, bad
	}
	n, err := strconv.Atoi(by[:len(by)-1])
	if err != nil || n < 0 || n > 100000 {
		return from, bad
	}
	switch by[len(by)-1] {
	case 's':
		return from.Add(time.Duration(n) * time.Second), nil
	case 'h':
		return from.Add(time.Duration(n) * time.Hour), nil
	case 'd':
		return from.AddDate(0, 0, n), nil
	case 'w':
		return from.AddDate(0, 0, 7*n), nil
	case 'm':
		return addMonths(from, n), nil
	case 'y':
		return addMonths(from, 12*n), nil
	}
	return from, bad
}

// decline makes the cards of a customer decline, or accept again.
func (l *Lab) decline(c *call) object {
	b := l.book
	customer := b.find("customer", c.form.str("customer"))
	if customer == nil {
		return c.refuse(missing("customer", c.form.str("customer"), "customer"))
	}
	code := ""
	if c.form.yes("on") {
		code = "generic_decline"
	}
	for _, method := range b.where("payment_method", "customer", customer.id()) {
		method["_decline"] = code
	}
	return object{}
}

// disputeCharge opens a dispute about a charge, or closes the open one as won or lost.
func (l *Lab) disputeCharge(c *call) object {
	b := l.book
	charge := b.find("charge", c.form.str("charge"))
	if charge == nil || !charge.yes("paid") {
		return c.refuse(missing("charge", c.form.str("charge"), "charge"))
	}
	var current object
	for _, d := range b.where("dispute", "charge", charge.id()) {
		if open(d) {
			current = d
		}
	}
	switch status := c.form.str("status"); {
	case status == "open" && current == nil && charge.num("amount_refunded") < charge.num("amount"):
		return object{"dispute": b.dispute(charge, charge.num("amount")-charge.num("amount_refunded")).id()}
	case (status == "won" || status == "lost") && current != nil:
		b.closeDispute(current, status)
		return object{"dispute": current.id()}
	}
	return c.refuse(invalid("", "status", "status: want open for a charge without an open dispute that is not refunded, or won or lost for one with an open dispute"))
}

// refundCharge refunds a charge, or an amount of it, as the merchant may do by hand.
func (l *Lab) refundCharge(c *call) object { return l.book.createRefund(c) }

// cancelOne cancels a subscription at once, as the merchant may do by hand.
func (l *Lab) cancelOne(c *call) object {
	c.id = c.form.str("subscription")
	return l.book.cancelSubscription(c)
}

// changeSettings changes the settings of the account, and the lab's own.
func (l *Lab) changeSettings(c *call) object {
	s := l.book.settings
	if c.form.has("retry_days") {
		s.retryDays = nil
		for _, text := range strings.Fields(c.form.str("retry_days")) {
			n, err := strconv.Atoi(text)
			if err != nil || n < 1 || n > 60 || len(s.retryDays) >= 8 {
				return c.refuse(invalid("", "retry_days", "retry_days: want at most 8 numbers of days between the attempts, such as 3 5 7"))
			}
			s.retryDays = append(s.retryDays, n)
		}
	}
	s.afterRetries = c.oneOf(c.form, "after_retries", "after_retries", s.afterRetries, "canceled", "unpaid", "past_due")
	if c.form.has("draft") {
		d, err := time.ParseDuration(c.form.str("draft"))
		if err != nil || d < 0 || d > 72*time.Hour {
			return c.refuse(invalid("", "draft", "draft: want a duration of at most 72h, such as 1h"))
		}
		s.draft = d
	}
	if c.form.has("tax_percent") {
		if s.taxPercent = c.decimal(c.form.str("tax_percent"), "tax_percent"); s.taxPercent < 0 || s.taxPercent > 100 {
			return c.refuse(invalid("", "tax_percent", "tax_percent: want a number between 0 and 100"))
		}
	}
	if c.failed != nil {
		return nil
	}
	l.book.settings = s
	return object{}
}

// takeFaults makes the next calls fail; with times 0 it removes all faults.
func (l *Lab) takeFaults(form *form) error {
	times, err := strconv.Atoi(form.str("times"))
	if err != nil {
		times = 1
	}
	if times == 0 {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.faults = nil
		return nil
	}
	return l.addFault(fault{kind: Fault(form.str("kind")), times: times, method: form.str("method"), part: form.str("path"), retryAfter: form.str("retry_after")})
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
