package stripelab

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"kith/backend/labkit"
)

// controls are the actions of a person in the gateway's dashboard or on its pages, events
// at a bank, and the clock. They are written to the journal.
var controls map[string]func(*Lab, *call) object

func init() {
	controls = map[string]func(*Lab, *call) object{
		"POST /lab/advance":  (*Lab).advance,
		"POST /lab/checkout": (*Lab).paySession,
		"POST /lab/decline":  (*Lab).decline,
		"POST /lab/dispute":  (*Lab).disputeCharge,
		"POST /lab/refund":   func(l *Lab, c *call) object { return l.book.createRefund(c) },
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
	panel := labkit.Panel{Mux: mux, Now: l.ran}
	for name := range controls {
		if strings.HasPrefix(name, "POST /lab/") {
			panel.Handle(name, func(r *http.Request) (map[string]any, error) { return l.control(r, name) })
		}
	}
	panel.HandleCommon(l, &l.faults, func() any { return l.State() })
	mux.HandleFunc("GET /{$}", l.page)
}

// control runs a control, and returns the fields of its answer.
func (l *Lab) control(r *http.Request, name string) (fields map[string]any, err error) {
	c, err := l.read(r, name)
	if err != nil {
		return nil, err
	}
	a := l.perform(c)
	if c.failed != nil {
		return nil, errors.New(c.failed.message)
	}
	err = json.Unmarshal(a.body, &fields)
	return fields, err
}

// ran returns the time up to which the lab has run.
func (l *Lab) ran() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.book.now
}

// advance advances the clock. What is due meanwhile runs, each at its time.
func (l *Lab) advance(c *call) object {
	to, err := l.clock.Advance(l.book.now, c.form.str("by"), c.form.str("to"))
	if err != nil {
		return c.refuse(invalid("", "by", err.Error()))
	}
	l.book.runTo(to)
	return object{}
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

// cancelOne cancels a subscription at once, as the merchant may do by hand.
func (l *Lab) cancelOne(c *call) object {
	c.id = c.form.str("subscription")
	return on("subscription", (*book).cancelSubscription)(l.book, c)
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
