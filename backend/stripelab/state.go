package stripelab

import (
	"encoding/json"
	"slices"
	"time"

	"kith/backend/labkit"
)

// State is the state of a lab, for its page, for tests and for scenarios. Records have the
// shape of the gateway's answers, and are in the order of creation. GET /lab/state returns
// the state as JSON.
type State struct {
	Now    time.Time
	Mode   labkit.Mode
	Faults int
	// Keys are the restricted keys, without their texts' middle.
	Keys          []KeyState
	Customers     []json.RawMessage
	Subscriptions []json.RawMessage
	Invoices      []json.RawMessage
	Charges       []json.RawMessage
	Refunds       []json.RawMessage
	Disputes      []json.RawMessage
	Sessions      []json.RawMessage
	Links         []json.RawMessage
	Promotions    []json.RawMessage
	Coupons       []json.RawMessage
	Balances      []json.RawMessage
	Endpoints     []json.RawMessage
	Deliveries    []Delivery
	Calls         []labkit.Call
}

// KeyState is a key with its permissions.
type KeyState struct {
	Key         string
	Permissions []string
}

// Delivery is one attempt to send an event to a webhook endpoint. Done is zero until it was
// sent, and Status is 0 if there was no answer.
type Delivery struct {
	Event, Type, Subject, Endpoint string
	Due, Done                      time.Time
	Attempt                        int
	Status                         int
	Problem                        string
	Held                           bool
}

// State returns the current state.
func (l *Lab) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.live()
	b := l.book
	all := func(kind string) []json.RawMessage {
		var records []json.RawMessage
		for _, o := range b.table(kind) {
			rendered, _ := b.render(o, nil)
			records = append(records, encode(rendered))
		}
		return records
	}
	s := State{
		Now: b.now, Mode: l.Sender.Mode(), Faults: l.faults.Len(), Customers: all("customer"), Subscriptions: all("subscription"), Invoices: all("invoice"), Charges: all("charge"),
		Refunds: all("refund"), Disputes: all("dispute"), Sessions: all("checkout.session"), Links: all("payment_link"), Promotions: all("promotion_code"), Coupons: all("coupon"),
		Balances: all("customer_balance_transaction"), Endpoints: all("webhook_endpoint"), Calls: slices.Clone(l.calls),
	}
	for _, k := range l.keys {
		s.Keys = append(s.Keys, KeyState{masked(k.text), slices.Clone(k.permissions)})
	}
	for _, t := range l.Sender.Tries() {
		s.Deliveries = append(s.Deliveries, Delivery{
			Event: t.Message.id(), Type: t.Message.text("type"), Subject: t.Message.text("_subject"), Endpoint: t.To, Due: t.Due, Done: t.Done, Attempt: t.Attempt,
			Status: t.Status, Problem: t.Problem, Held: t.Held,
		})
	}
	return s
}
