package braintreelab

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"kith/backend/gateway/braintree"
	"kith/backend/gateway/xmltree"
	"kith/backend/labkit"
)

// controls are the actions of a person in the gateway's control panel, events at a bank,
// and the clock. They are written to the journal.
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
	panel := labkit.Panel{Mux: mux, Now: l.ran}
	for call, do := range controls {
		panel.Handle(call, func(r *http.Request) (map[string]any, error) {
			if err := r.ParseForm(); err != nil {
				return nil, err
			}
			return nil, failureOf(l.perform(command{call: call, body: formBody(r.PostForm)}, do))
		})
	}
	panel.HandleCommon(l, &l.faults, func() any { return l.State() })
	panel.Handle("POST /lab/webhook", func(r *http.Request) (map[string]any, error) {
		return nil, l.Register(r.Context(), r.PostFormValue("url"))
	})
	mux.HandleFunc("GET /{$}", l.page)
}

// ran returns the time up to which the lab has run.
func (l *Lab) ran() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.book.now
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
	return named(on(subscriptions, (*book).cancelSubscription)(l.book, command{id: c.body.Value("subscription")}))
}

// settleOne settles a charge at once, as the sandbox can.
func (l *Lab) settleOne(c command) reply {
	return named(settle(l.book, command{id: c.body.Value("transaction")}))
}

// refundOne refunds the rest of a charge, as the merchant may do by hand.
func (l *Lab) refundOne(c command) reply {
	return named(on(transactions, (*book).refund)(l.book, command{id: c.body.Value("transaction")}))
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

// advance advances the clock. Events that are due meanwhile run, each at its time.
func (l *Lab) advance(c command) reply {
	to, err := l.clock.Advance(l.book.now, c.body.Value("by"), c.body.Value("to"))
	if err != nil {
		return said(err.Error())
	}
	l.book.runTo(to)
	return said("")
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
