package scenario

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"kith/backend/braintreelab"
	"kith/backend/gateway/braintree"
)

// says returns a verb that asserts something of the state.
func (p *Player) says(is func(braintreelab.State, Step) error) Verb {
	return func(ctx context.Context, s Step) error {
		state, err := p.State(ctx)
		if err != nil {
			return err
		}
		return is(state, s)
	}
}

// short returns a notification in the form of a scenario line.
func short(n braintreelab.NotificationState) string {
	return strings.TrimSpace(strings.TrimPrefix(string(n.Kind), "subscription_") + " " + n.Subject)
}

// notified KIND [SUBSCRIPTION]: the next notification has this kind, without its prefix
// "subscription_". A notification about a dispute names no subscription.
func (p *Player) wasNotified(state braintreelab.State, s Step) error {
	if p.notified >= len(state.Notifications) {
		return fmt.Errorf("no further notification")
	}
	n := state.Notifications[p.notified]
	p.notified++
	if strings.HasPrefix(string(n.Kind), "dispute_") {
		n.Subject = ""
	}
	return same("notification", short(n), strings.Join(s.Words, " "))
}

// charged SUBSCRIPTION AMOUNT [STATUS] [discount=ID:AMOUNT]: the next charge of a
// subscription. STATUS is its current status; it is not checked if it is left out.
func (p *Player) wasCharged(state braintreelab.State, s Step) error {
	id := s.Word(0)
	all := charges(state, id)
	if p.charged[id] >= len(all) {
		return fmt.Errorf("no further charge")
	}
	t := all[p.charged[id]]
	p.charged[id]++
	if err := same("amount", string(t.Amount), s.Word(1)); err != nil {
		return err
	}
	if s.Word(2) != "" {
		if err := same("status", string(t.Status), s.Word(2)); err != nil {
			return err
		}
	}
	if want, said := s.Named["discount"]; said {
		return same("discount", list(t.Discounts), want)
	}
	return nil
}

// refunded SUBSCRIPTION AMOUNT: the next refund of a charge of a subscription.
func (p *Player) wasRefunded(state braintreelab.State, s Step) error {
	id := s.Word(0)
	all := refunds(state, id)
	if p.refunded[id] >= len(all) {
		return fmt.Errorf("no further refund")
	}
	t := all[p.refunded[id]]
	p.refunded[id]++
	return same("amount", string(t.Amount), s.Word(1))
}

// subscription ID NAME=VALUE...: the values of a subscription.
func subscriptionIs(state braintreelab.State, s Step) error {
	for _, one := range state.Subscriptions {
		if one.ID == s.Word(0) {
			return sameValues(s, map[string]string{
				"status": string(one.Status), "price": string(one.Price), "balance": string(one.Balance), "next": string(one.Next),
				"billing": one.NextBilling, "paid": one.PaidUntil, "cycle": strconv.Itoa(one.Cycle), "failures": strconv.Itoa(one.Failures),
				"trial": map[bool]string{true: "yes", false: "no"}[one.Trial], "plan": one.Plan, "discount": list(one.Discounts),
			})
		}
	}
	if s.Named["status"] == "none" {
		return nil
	}
	return fmt.Errorf("no subscription %s", s.Word(0))
}

// transaction CHARGE status=... dispute=...: the values of a charge.
func transactionIs(state braintreelab.State, s Step) error {
	t, err := chargeIn(state, s.Word(0))
	if err != nil {
		return err
	}
	return sameValues(s, map[string]string{"status": string(t.Status), "amount": string(t.Amount), "dispute": t.Dispute, "discount": list(t.Discounts)})
}

func sameValues(s Step, is map[string]string) error {
	if len(s.Named) == 0 {
		return fmt.Errorf("no values to check")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Named)) {
		value, known := is[name]
		if !known {
			return fmt.Errorf("unknown value %s", name)
		}
		if err := same(name, value, s.Named[name]); err != nil {
			return err
		}
	}
	return nil
}

func same(what, is, want string) error {
	if is != want {
		return fmt.Errorf("the %s is %q", what, is)
	}
	return nil
}

// list writes discounts as "loyalty:2.00,svc_discount:5.00", or as "none".
func list(amounts map[string]braintree.Amount) string {
	if len(amounts) == 0 {
		return "none"
	}
	var all []string
	for _, id := range slices.Sorted(maps.Keys(amounts)) {
		all = append(all, id+":"+string(amounts[id]))
	}
	return strings.Join(all, ",")
}
