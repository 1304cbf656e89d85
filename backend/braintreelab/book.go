package braintreelab

import (
	"slices"
	"strconv"
	"time"

	"kith/backend/gateway/braintree"
)

// book is the state of the gateway at the time b.now. Callers of its methods hold the
// mutex of the lab.
type book struct {
	now time.Time
	// run distinguishes the ids of this book from those of all others, since clients
	// of the lab store them.
	run   string
	drawn int

	settings      settings
	plans         shelf[plan]
	catalog       shelf[modification]
	customers     shelf[customer]
	methods       shelf[method]
	subscriptions shelf[subscription]
	transactions  shelf[transaction]
	disputes      shelf[dispute]
	used          map[string]*usedKey
	notes         []*note
}

// settings are what a merchant sets in the gateway's control panel.
type settings struct {
	// customField is registered as Store and Pass Back.
	customField string
	// prorate is whether changes are prorated when a call does not say.
	prorate bool
	// retryDays are the days after a failed charge on which it is tried again.
	retryDays []int
	// requestKeys is whether the merchant may make calls at-most-once.
	requestKeys bool
}

func newBook(start time.Time, o Options) *book {
	b := &book{now: start, run: strconv.FormatInt(start.Unix(), 36), used: map[string]*usedKey{}}
	b.settings = settings{customField: o.CustomField, retryDays: []int{2, 5, 10}, requestKeys: true}
	for _, p := range []plan{
		{id: "basic", name: "Basic", price: 1000, currency: "USD", months: 1},
		{id: "pro", name: "Pro", price: 5000, currency: "USD", months: 1},
		{id: "yearly", name: "Yearly", price: 50000, currency: "USD", months: 12},
		{id: "yen", name: "Yen", price: 5000, currency: "JPY", months: 1},
	} {
		p.created = start
		b.plans.put(p.id, &p)
	}
	b.catalog.put(o.DiscountID, &modification{kind: discountKind, id: o.DiscountID, name: "Svc Discount", placeholder: "1.00", quantity: 1})
	b.catalog.put("seats", &modification{kind: addOnKind, id: "seats", name: "Seats", placeholder: "3.00", quantity: 1})
	b.catalog.put("loyalty", &modification{kind: discountKind, id: "loyalty", name: "Loyalty", placeholder: "2.00", quantity: 1})
	return b
}

// id draws an id that no other record has, in this book or another.
func (b *book) id(prefix string) string {
	b.drawn++
	return prefix + "-" + b.run + "-" + strconv.Itoa(b.drawn)
}

// runTo runs all scheduled events up to a time, each at its own time.
func (b *book) runTo(to time.Time) {
	for {
		at, happen := b.next(to)
		if happen == nil {
			break
		}
		b.now = at
		happen()
	}
	b.now = to
}

// next returns the next scheduled event that is not after limit. Of several at the same
// time it is that of the oldest record.
func (b *book) next(limit time.Time) (at time.Time, happen func()) {
	at = limit
	consider := func(when time.Time, what func()) {
		if !when.IsZero() && !when.After(limit) && (happen == nil || when.Before(at)) {
			at, happen = when, what
		}
	}
	for _, t := range b.transactions.order {
		consider(t.nextAt, func() { b.settleStep(t) })
	}
	for _, s := range b.subscriptions.order {
		if s.willBill() {
			consider(s.nextBilling, func() { b.bill(s) })
		}
		if s.status == braintree.PastDue {
			consider(s.retryAt, func() { b.retry(s) })
		}
	}
	return at, happen
}

// shelf stores records by id and in the order of their creation.
type shelf[T any] struct {
	byID  map[string]*T
	order []*T
}

func (s *shelf[T]) put(id string, record *T) {
	if s.byID == nil {
		s.byID = map[string]*T{}
	}
	s.byID[id] = record
	s.order = append(s.order, record)
}

// find returns nil for an unknown id.
func (s *shelf[T]) find(id string) *T { return s.byID[id] }

func (s *shelf[T]) remove(id string) {
	record := s.byID[id]
	delete(s.byID, id)
	s.order = slices.DeleteFunc(s.order, func(one *T) bool { return one == record })
}

func plans(b *book) *shelf[plan]                 { return &b.plans }
func customers(b *book) *shelf[customer]         { return &b.customers }
func methods(b *book) *shelf[method]             { return &b.methods }
func subscriptions(b *book) *shelf[subscription] { return &b.subscriptions }
func transactions(b *book) *shelf[transaction]   { return &b.transactions }

// on runs a call on the record of a shelf that the path names.
func on[T any](shelf func(*book) *shelf[T], do func(*book, command, *T) reply) func(*book, command) reply {
	return func(b *book, c command) reply {
		record := shelf(b).find(c.id)
		if record == nil {
			return notFound()
		}
		return do(b, c, record)
	}
}

// day returns the day of a time, as midnight in UTC, the time zone of the lab's merchant.
func day(at time.Time) time.Time {
	at = at.UTC()
	return time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)
}

// days returns the number of days between two days.
func days(from, to time.Time) int { return int(day(to).Sub(day(from)) / (24 * time.Hour)) }
