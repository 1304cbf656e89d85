// Package scenario runs scenarios on a gateway lab. A scenario is a text. Each line
// either acts, as the merchant, a customer, a bank or the clock would, or asserts the
// resulting state. Scenarios are tests, and document how the gateway behaves.
//
//	customer bob coupon=ANNA10
//	subscribe bob pro s1 trial=14d
//	advance 14d
//	notified trial_ended s1
//	charged s1 50.00
//
// A scenario must be complete: it fails if a charge, a refund or a notification is not
// mentioned by any line. Callers can add verbs, for example to assert what the service
// did.
package scenario

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"kith/backend/braintreelab"
)

// Verb runs a step. It returns an error if the action fails or the assertion is false.
type Verb func(context.Context, Step) error

// Player plays scenarios on a lab.
type Player struct {
	base  string
	http  *http.Client
	verbs map[string]Verb
	// notified counts the mentioned notifications; charged and refunded count the
	// mentioned charges and refunds by subscription.
	notified          int
	charged, refunded map[string]int
}

// New returns a player for the lab at a base URL, such as
// "http://127.0.0.1:8090". The lab should be new: earlier events are not mentioned by
// the scenario.
func New(base string) *Player {
	p := &Player{base: base, http: &http.Client{Timeout: 30 * time.Second}, charged: map[string]int{}, refunded: map[string]int{}}
	p.verbs = map[string]Verb{
		"customer": p.customer, "subscribe": p.subscribe, "change": p.change, "cancel": p.cancel,
		"refund": p.refund, "void": p.move("void"), "settle": p.move("settle"), "refused": p.refused,
		"decline": p.decline, "accept": p.decline, "dispute": p.dispute, "advance": p.advance, "setting": p.control("settings"),
		"fault": p.fault, "send": p.control("flush"), "check": p.control("check"),
		"retry":    p.word("retry", "subscription"), // a past due subscription is charged again
		"mode":     p.word("mode", "mode"),          // normal|duplicate|reorder|stale|hold|drop
		"key":      p.word("keys", "change"),        // add|retire
		"notified": p.says(p.wasNotified), "charged": p.says(p.wasCharged), "refunded": p.says(p.wasRefunded),
		"subscription": p.says(subscriptionIs), "transaction": p.says(transactionIs),
	}
	return p
}

// Add adds or replaces a verb.
func (p *Player) Add(verb string, do Verb) { p.verbs[verb] = do }

// Play runs a scenario. It returns the error of the first line that fails, or the events
// that the scenario does not mention.
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
	return p.unmentioned(ctx)
}

func (p *Player) step(ctx context.Context, s Step) error {
	do, known := p.verbs[s.Verb]
	if !known {
		return fmt.Errorf("unknown verb")
	}
	return do(ctx, s)
}

// unmentioned returns an error if the scenario does not mention an event.
func (p *Player) unmentioned(ctx context.Context) error {
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
		return fmt.Errorf("the scenario does not mention:\n%s", strings.Join(left, "\n"))
	}
	return nil
}

// charges returns the sales of a subscription, the oldest first.
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
