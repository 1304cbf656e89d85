package scenario

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"kith/backend/braintreelab"
	"kith/backend/gateway/xmltree"
)

// customer ID [coupon=CODE]: creates a customer with a valid card.
func (p *Player) customer(ctx context.Context, s Step) error {
	return p.use(ctx, "customers", url.Values{"id": {s.Word(0)}, "email": {s.Word(0) + "@example.com"}, "coupon": {s.Named["coupon"]}})
}

// subscribe CUSTOMER PLAN ID [price=] [trial=14d|none] [cycles=3] [first=DAY]
// [add=DISCOUNT:AMOUNT]: subscribes a customer to a plan.
func (p *Player) subscribe(ctx context.Context, s Step) error {
	token, err := p.cardOf(ctx, s.Word(0))
	if err != nil {
		return err
	}
	body := xmltree.Object("subscription", xmltree.Text("payment_method_token", token), xmltree.Text("plan_id", s.Word(1)), xmltree.Text("id", s.Word(2)),
		named(s, "price", "price"), named(s, "cycles", "number_of_billing_cycles"), named(s, "first", "first_billing_date"))
	switch trial := s.Named["trial"]; {
	case trial == "none":
		body.Children = append(body.Children, xmltree.Bool("trial_period", false))
	case trial != "":
		body.Children = append(body.Children, xmltree.Bool("trial_period", true),
			xmltree.Text("trial_duration", strings.TrimRight(trial, "dm")), xmltree.Text("trial_duration_unit", map[bool]string{true: "day", false: "month"}[strings.HasSuffix(trial, "d")]))
	}
	body.Children = append(body.Children, modifications(s)...)
	return p.call(ctx, http.MethodPost, "/subscriptions", body)
}

// change SUBSCRIPTION [price=] [plan=] [prorate=yes|no] [add=DISCOUNT:AMOUNT]
// [update=DISCOUNT:AMOUNT] [remove=DISCOUNT]: changes a subscription, all in one
// call.
func (p *Player) change(ctx context.Context, s Step) error {
	body := xmltree.Object("subscription", named(s, "price", "price"), named(s, "plan", "plan_id"))
	body.Children = append(body.Children, modifications(s)...)
	if prorate := s.Named["prorate"]; prorate != "" {
		body.Children = append(body.Children, xmltree.Object("options", xmltree.Bool("prorate_charges", prorate == "yes")))
	}
	return p.call(ctx, http.MethodPut, "/subscriptions/"+s.Word(0), body)
}

func named(s Step, name, element string) *xmltree.Node {
	if s.Named[name] == "" {
		return nil
	}
	return xmltree.Text(element, s.Named[name])
}

// modifications returns the discounts that a step adds, updates and removes. A number of
// cycles may follow the amount, as in svc_discount:5.00:1.
func modifications(s Step) []*xmltree.Node {
	changes := xmltree.Object("discounts")
	for verb, id := range map[string]string{"add": "inherited_from_id", "update": "existing_id"} {
		if s.Named[verb] == "" {
			continue
		}
		parts := strings.Split(s.Named[verb], ":")
		item := xmltree.Object("item", xmltree.Text(id, parts[0]))
		for i, name := range []string{"amount", "number_of_billing_cycles"} {
			if len(parts) > i+1 {
				item.Children = append(item.Children, xmltree.Text(name, parts[i+1]))
			}
		}
		changes.Children = append(changes.Children, xmltree.Array(verb, item))
	}
	if id := s.Named["remove"]; id != "" {
		changes.Children = append(changes.Children, xmltree.Array("remove", xmltree.Text("item", id)))
	}
	if len(changes.Children) == 0 {
		return nil
	}
	return []*xmltree.Node{changes}
}

// cancel SUBSCRIPTION
func (p *Player) cancel(ctx context.Context, s Step) error {
	return p.call(ctx, http.MethodPut, "/subscriptions/"+s.Word(0)+"/cancel", nil)
}

// refund CHARGE AMOUNT [key=KEY] [order=ID]. A charge is a subscription and the
// number of its charge, from 1: s1#2.
func (p *Player) refund(ctx context.Context, s Step) error {
	id, err := p.charge(ctx, s.Word(0))
	if err != nil {
		return err
	}
	return p.call(ctx, http.MethodPost, "/transactions/"+id+"/refund",
		xmltree.Object("transaction", xmltree.Text("amount", s.Word(1)), named(s, "order", "order_id"), named(s, "key", "api_request_key")))
}

// move returns the verbs void CHARGE, and settle CHARGE: settles at once.
func (p *Player) move(how string) Verb {
	return func(ctx context.Context, s Step) error {
		id, err := p.charge(ctx, s.Word(0))
		if err != nil {
			return err
		}
		return p.call(ctx, http.MethodPut, "/transactions/"+id+"/"+how, nil)
	}
}

// decline CUSTOMER: the customer's card declines from now on; accept CUSTOMER: it is
// accepted again.
func (p *Player) decline(ctx context.Context, s Step) error {
	return p.use(ctx, "decline", url.Values{"customer": {s.Word(0)}, "on": {strconv.FormatBool(s.Verb == "decline")}})
}

// dispute CHARGE open|disputed|won|lost|...
func (p *Player) dispute(ctx context.Context, s Step) error {
	id, err := p.charge(ctx, s.Word(0))
	if err != nil {
		return err
	}
	return p.use(ctx, "dispute", url.Values{"transaction": {id}, "status": {s.Word(1)}})
}

// advance 12h|3d|2w|1m|1y, or advance to DAY
func (p *Player) advance(ctx context.Context, s Step) error {
	if s.Word(0) == "to" {
		return p.use(ctx, "advance", url.Values{"to": {s.Word(1)}})
	}
	return p.use(ctx, "advance", url.Values{"by": {s.Word(0)}})
}

// fault KIND [times=] [method=] [path=] [retry_after=]
func (p *Player) fault(ctx context.Context, s Step) error {
	s.Named["kind"] = s.Word(0)
	return p.control("faults")(ctx, s)
}

// refused CODE STEP...: the step is refused with the code, or with declined
// when a card declines.
func (p *Player) refused(ctx context.Context, s Step) error {
	want := s.Word(0)
	if len(s.Words) < 2 {
		return errors.New("the step that is refused is missing")
	}
	err := p.step(ctx, Step{Line: s.Line, Verb: s.Words[1], Words: s.Words[2:], Named: s.Named})
	var r *refusal
	switch {
	case err == nil:
		return errors.New("the step was not refused")
	case !errors.As(err, &r):
		return err
	case want == "declined" && len(r.codes) == 0, slices.Contains(r.codes, want):
		return nil
	}
	return err
}

func (p *Player) cardOf(ctx context.Context, customer string) (string, error) {
	state, err := p.State(ctx)
	if err != nil {
		return "", err
	}
	for _, c := range state.Customers {
		if c.ID == customer && len(c.Cards) > 0 {
			return c.Cards[0], nil
		}
	}
	return "", fmt.Errorf("no customer %s", customer)
}

// charge returns the id of a charge with a name such as s1#2.
func (p *Player) charge(ctx context.Context, name string) (string, error) {
	state, err := p.State(ctx)
	if err != nil {
		return "", err
	}
	t, err := chargeIn(state, name)
	return t.ID, err
}

func chargeIn(state braintreelab.State, name string) (t braintreelab.TransactionState, err error) {
	subscription, number, _ := strings.Cut(name, "#")
	n, err := strconv.Atoi(number)
	all := charges(state, subscription)
	if err != nil || n < 1 || n > len(all) {
		return t, fmt.Errorf("no charge %s: %s has %d", name, subscription, len(all))
	}
	return all[n-1], nil
}
