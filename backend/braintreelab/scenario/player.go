// Package scenario plays stories on a gateway lab. A story is a text: each line
// does something, as the merchant, a customer, a bank or the clock would, or
// says what is then so. The texts are tests, and show how the gateway behaves.
//
//	customer bob coupon=ANNA10
//	subscribe bob pro s1 trial=14d
//	advance 14d
//	notified trial_ended s1
//	charged s1 50.00
//
// A story tells everything: a charge, a refund or a notification that no line
// speaks of makes it fail. Who has more to tell, such as what the service did
// meanwhile, adds verbs.
package scenario

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"kith/backend/braintreelab"
)

// Verb carries out a step, or says why what the step says is not so.
type Verb func(context.Context, Step) error

// Player plays scenarios on a lab.
type Player struct {
	base  string
	http  *http.Client
	verbs map[string]Verb
	// notified counts the notifications that lines spoke of, and charged and
	// refunded the charges and refunds by subscription.
	notified          int
	charged, refunded map[string]int
}

// New returns a player for the lab at a base URL, such as
// "http://127.0.0.1:8090". The lab should be a new one: what was done in it
// before is not told by the story.
func New(base string) *Player {
	p := &Player{base: base, http: &http.Client{Timeout: 30 * time.Second}, charged: map[string]int{}, refunded: map[string]int{}}
	p.verbs = map[string]Verb{
		"customer": p.customer, "subscribe": p.subscribe, "change": p.change, "cancel": p.cancel, "retry": p.retry,
		"refund": p.refund, "void": p.void, "settle": p.settle, "refused": p.refused,
		"decline": p.decline, "accept": p.decline, "dispute": p.dispute, "advance": p.advance, "setting": p.control("settings"),
		"mode": p.mode, "fault": p.fault, "send": p.control("flush"), "key": p.key, "check": p.control("check"),
		"notified": p.wasNotified, "charged": p.wasCharged, "refunded": p.wasRefunded, "subscription": p.subscriptionIs, "transaction": p.transactionIs,
	}
	return p
}

// Add adds a verb, or puts another in the place of one.
func (p *Player) Add(verb string, do Verb) { p.verbs[verb] = do }

// Play carries out a scenario. The error is the first line that fails, or what
// the scenario does not speak of.
func (p *Player) Play(ctx context.Context, text string) error {
	steps, err := Parse(text)
	if err != nil {
		return err
	}
	for _, s := range steps {
		if err := p.step(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return p.untold(ctx)
}

func (p *Player) step(ctx context.Context, s Step) error {
	do, known := p.verbs[s.Verb]
	if !known {
		return fmt.Errorf("there is no such verb")
	}
	return do(ctx, s)
}

// untold is an error when something happened that no line spoke of.
func (p *Player) untold(ctx context.Context) error {
	state, err := p.State(ctx)
	if err != nil {
		return err
	}
	var left []string
	for _, n := range state.Notifications[min(p.notified, len(state.Notifications)):] {
		left = append(left, "notified "+short(n))
	}
	for _, s := range state.Subscriptions {
		for _, t := range charges(state, s.ID)[p.charged[s.ID]:] {
			left = append(left, fmt.Sprintf("charged %s %s %s", s.ID, t.Amount, t.Status))
		}
		for _, t := range refunds(state, s.ID)[p.refunded[s.ID]:] {
			left = append(left, fmt.Sprintf("refunded %s %s", s.ID, t.Amount))
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("the scenario does not tell of:\n%s", strings.Join(left, "\n"))
	}
	return nil
}

// charges are the sales of a subscription, the oldest first.
func charges(state braintreelab.State, subscription string) []braintreelab.TransactionState {
	return transactions(state, subscription, "sale")
}

func refunds(state braintreelab.State, subscription string) []braintreelab.TransactionState {
	return transactions(state, subscription, "credit")
}

func transactions(state braintreelab.State, subscription, kind string) (all []braintreelab.TransactionState) {
	for _, t := range state.Transactions {
		if t.Subscription == subscription && string(t.Kind) == kind {
			all = append(all, t)
		}
	}
	return all
}
