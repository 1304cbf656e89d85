package conversion

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"

	"kith/core"
	"kith/core/reward"
)

// MaxRefunds is the most refunds of an order that count one by one. Further ones count
// as a refund of the whole order.
const MaxRefunds = 100

// Event is an event of an account, with the data that rules read.
type Event struct {
	ID  string
	Key string
	// At is when it happened by the sender's clock.
	At core.Time
	// OrderID is the field order_id; empty if there is none.
	OrderID string
	// RefundID is the field refund_id; empty if there is none.
	RefundID string
	// Revenue and Currency are these fields as the shop sent them; empty if there is none.
	Revenue, Currency string
	// Code is the referral code that the event carries, as it was sent, or empty. Agent is true if it
	// is from the attribution of a checkout that an agent made for a person, which may have a
	// Token in its place: the value of an attribution cookie, not yet verified.
	Code  string
	Agent bool
	Token string
	// Fields has the values of the fields that conditions name; see Condition.Holds.
	Fields map[string][]string
}

// OrderKey returns the key of the order that the event is about: its order_id, or the
// event's own id.
func (e Event) OrderKey() string {
	if e.OrderID != "" {
		return e.OrderID
	}
	return e.ID
}

// Order is an order of a referred account: all its events together.
type Order struct {
	Referral string
	// Key is the order_id of the shop, or the id of the event without one.
	Key string
	// Placed is the event that placed it; the zero Placed if only refunds came yet.
	Placed
	// Refunds are its refunds by the id of their event.
	Refunds []Refund
}

// Placed is the event that placed an order. Of several with the same order_id, the
// earliest counts whose revenue and currency can be read.
type Placed struct {
	// Event is the id of the event; empty if it has not come yet.
	Event string
	At    core.Time
	// Revenue is in minor units of Currency. HasRevenue is false if the event has no
	// revenue, or none that can be read.
	Revenue    int64
	HasRevenue bool
	// Currency is empty if the one of the event cannot be read.
	Currency string
	// Fault is ReasonBadRevenue or ReasonBadCurrency if that field cannot be read: then the
	// order earns no share of its revenue.
	Fault Reason
	// Refused is why the rule of that time refuses the event; empty if it does not.
	Refused Reason
	// Detail completes Refused or Fault for people: the condition that failed, or the field
	// and how to write it.
	Detail string
}

// Refund is an event that takes an order back.
type Refund struct {
	// Event is the id of the event, or a hash of its refund_id: a refund with an id of its own
	// counts once, however often it is sent.
	Event string
	// At is when it happened by the sender's clock; zero if an earlier version stored it. Of
	// several with one id of its own the earliest counts whose amount can be read.
	At core.Time `json:",omitempty"`
	// Amount is in minor units of Currency; Whole is true for the whole order. Such a refund
	// may name no currency.
	Amount   int64
	Currency string
	Whole    bool
	// Decimal is the amount of a refund that names no currency: it is in that of the order.
	Decimal string `json:",omitempty"`
	// Fault says, for people, why the refund takes nothing back: a field that cannot be read.
	Fault string `json:",omitempty"`
}

// Place returns the order with an event that places it, under the plan of that time.
func (o Order) Place(e Event, p Plan) Order {
	next := Placed{Event: e.ID, At: e.At}
	var badCurrency, badRevenue string
	next.Currency, badCurrency = readCurrency(e, p)
	d, ok, badRevenue := readRevenue(e)
	switch {
	case badRevenue != "":
		next.Fault, next.Detail = ReasonBadRevenue, badRevenue
	case badCurrency != "":
		next.Fault, next.Detail = ReasonBadCurrency, badCurrency
	case ok:
		next.Revenue, next.HasRevenue = d.Minor(next.Currency, reward.MaxValue)
		if !next.HasRevenue {
			next.Refused = ReasonTooLarge
		}
	}
	if d.sign() < 0 {
		next.Revenue, next.HasRevenue, next.Refused = 0, false, ReasonNegative
	}
	if next.Refused == "" {
		if reason, detail := p.Rule.refuses(e); reason != "" {
			next.Refused, next.Detail = reason, detail
		}
	}
	if o.Placed.Event == "" || next.before(o.Placed) {
		o.Placed = next
	}
	return o
}

// before orders the events that place the same order, so that the order of their
// arrival does not matter.
func (p Placed) before(o Placed) bool {
	whole := func(p Placed) int64 {
		if p.HasRevenue {
			return 1
		}
		return 0
	}
	sound := func(p Placed) int64 {
		if p.Fault == "" && p.Refused != ReasonOtherTrigger {
			return 1
		}
		return 0
	}
	// A corrected event replaces one that cannot be read, and the event that converts at its time
	// one of another plan.
	return cmp.Or(
		cmp.Compare(sound(o), sound(p)), cmp.Compare(p.At, o.At), cmp.Compare(whole(o), whole(p)), cmp.Compare(p.Revenue, o.Revenue),
		strings.Compare(p.Currency, o.Currency), strings.Compare(string(p.Refused), string(o.Refused)),
		strings.Compare(p.Detail, o.Detail), strings.Compare(p.Event, o.Event),
	) < 0
}

// refuses returns why the rule refuses an event; the reason is empty if it does not.
func (r Rule) refuses(e Event) (Reason, string) {
	if !r.ByEvent() || r.Event != e.Key {
		return ReasonOtherTrigger, ""
	}
	for _, c := range r.Conditions {
		if !c.Holds(e.Fields[c.Field]) {
			return ReasonCondition, c.String() + ": " + c.Because(e.Fields[c.Field])
		}
	}
	return "", ""
}

// Reverse returns the order with an event that takes it back: in full if the event has no
// revenue, else by that amount, whatever its sign. A revenue or currency that cannot be
// read takes nothing back. An event that was applied before changes nothing.
func (o Order) Reverse(e Event, p Plan) Order {
	refund := Refund{Event: e.ID, At: e.At}
	if e.RefundID != "" {
		sum := sha256.Sum256([]byte(e.RefundID))
		refund.Event = "~" + base64.RawURLEncoding.EncodeToString(sum[:18])
	}
	d, ok, badRevenue := readRevenue(e)
	currency, badCurrency := readCurrency(e, p)
	switch {
	case badRevenue != "":
		refund.Fault = badRevenue
	case badCurrency != "":
		refund.Fault = badCurrency
	case !ok:
		refund.Whole = true
	case e.Currency == "":
		refund.Decimal = strings.TrimSpace(e.Revenue)
	default:
		refund.Currency = currency
		refund.Amount, ok = d.Minor(currency, reward.MaxValue)
		refund.Whole = !ok
	}
	at, known := slices.BinarySearchFunc(o.Refunds, refund.Event, func(r Refund, id string) int { return strings.Compare(r.Event, id) })
	if known {
		if refund.before(o.Refunds[at]) {
			o.Refunds = slices.Clone(o.Refunds)
			o.Refunds[at] = refund
		}
		return o
	}
	if len(o.Refunds) >= MaxRefunds && ok && d.sign() == 0 {
		return o // it is of nothing
	}
	refund.Whole = refund.Whole || refund.Fault == "" && len(o.Refunds) >= MaxRefunds
	if len(o.Refunds) <= MaxRefunds {
		o.Refunds = slices.Insert(slices.Clone(o.Refunds), at, refund)
	}
	return o
}

// before orders the events of one refund, so that the order of their arrival does not
// matter.
func (r Refund) before(o Refund) bool {
	sound := func(r Refund) int {
		if r.Fault == "" {
			return 1
		}
		return 0
	}
	return cmp.Or(
		cmp.Compare(sound(o), sound(r)), cmp.Compare(r.At, o.At), cmp.Compare(r.Amount, o.Amount),
		strings.Compare(r.Currency, o.Currency), strings.Compare(r.Decimal, o.Decimal), strings.Compare(r.Fault, o.Fault),
	) < 0
}

// Refunded returns how much of the order's revenue was taken back, in its currency, and
// whether all of it was. A refund in another currency counts only if it is of the whole
// order. If the order has no revenue, each refund of an amount is of the whole order.
func (o Order) Refunded() (amount int64, whole bool) {
	counted := false
	for _, r := range o.Refunds {
		if r.Fault != "" {
			continue
		}
		if r.Decimal != "" {
			d, _ := ParseDecimal(r.Decimal)
			sum, ok := d.Minor(o.Currency, reward.MaxValue)
			r.Amount, r.Currency, r.Whole = sum, o.Currency, r.Whole || !ok
		}
		switch {
		case r.Whole:
			return o.Revenue, true
		case r.Amount == 0 || o.Fault != "":
			// Of an order that cannot be read, no part is known.
		case o.Revenue == 0:
			return 0, true
		case r.Currency == o.Currency:
			// Both are at most reward.MaxValue, and there are few.
			amount, counted = amount+r.Amount, true
		}
	}
	return min(amount, o.Revenue), amount >= o.Revenue && counted
}

// Returned reports whether refunds took back the whole order. Such an order uses up neither
// the number of orders that earn nor a limit of the referrer.
func (o Order) Returned() bool {
	_, whole := o.Refunded()
	return whole
}

// Unread returns, for people, which field of the order's events cannot be read, what was
// sent, and how to correct it, and that a refund takes nothing back for such a reason. It is
// empty if all can be read.
func (o Order) Unread() string {
	if o.Fault != "" && o.Refused == "" {
		if o.ignored() != nil {
			return o.Detail + ". A refund was received, too: it takes nothing back until the amount of the order is known"
		}
		return o.Detail
	}
	// Refunds are in the order of their arrival: a later one that can be read corrects others.
	if n := len(o.Refunds); n > 0 && o.Refunds[n-1].Fault != "" {
		return "a refund takes nothing back: " + o.Refunds[n-1].Fault
	}
	if r := o.ignored(); r != nil && o.Refused == "" {
		return "a refund takes nothing back: its currency is " + r.Currency + ", and that of the order " + o.Currency + "; send it again in " + o.Currency + " with a new idempotency key"
	}
	return ""
}

// ignored returns a refund that takes nothing back because of the order, whose revenue is
// unknown or in another currency. It returns nil if there is none.
func (o Order) ignored() *Refund {
	if o.Event == "" || o.Returned() {
		return nil
	}
	for i, r := range o.Refunds {
		d, _ := ParseDecimal(r.Decimal)
		ofUnknown := o.Fault != "" && (r.Fault != "" || r.Amount != 0 || d.sign() != 0)
		if ofUnknown || r.Amount != 0 && r.Currency != o.Currency {
			return &o.Refunds[i]
		}
	}
	return nil
}

// Share returns how much of a reward for the order its refunds take back: the share of
// the order's revenue that was refunded, rounded half to even, and never more than the
// reward. Of a reward that cannot be divided they take back all or nothing.
func (o Order) Share(of reward.Offer) int64 {
	amount, whole := o.Refunded()
	switch {
	case whole:
		return of.Value()
	case amount == 0 || !of.Divisible():
		return 0
	}
	return portion(of.Value(), amount, o.Revenue)
}

// Position returns the place of the order among all of its referrer.
func (o Order) Position() Position { return Position{At: o.At, Referral: o.Referral, Order: o.Key} }

// Position is a place in the sequence of a referrer's orders in a program: by the time
// at which they were placed, then by referral and key.
type Position struct {
	At              core.Time
	Referral, Order string
}

// Compare returns -1, 0 or 1: whether p is before, at or after o.
func (p Position) Compare(o Position) int {
	return cmp.Or(cmp.Compare(p.At, o.At), strings.Compare(p.Referral, o.Referral), strings.Compare(p.Order, o.Order))
}
