package braintreelab

import (
	"strings"
	"time"

	"kith/backend/gateway/braintree"
	"kith/backend/gateway/xmltree"
)

// plan is a plan to which customers subscribe.
type plan struct {
	id, name string
	// price is in minor units of currency.
	price    int64
	currency string
	// months is the length of a billing cycle.
	months int
	// trialDays is the length of the trial; 0 means none.
	trialDays int
	// cycles is the number of billing cycles; 0 means no end.
	cycles  int
	created time.Time
}

func (p *plan) merchantAccount() string { return "lab_" + strings.ToLower(p.currency) }

func (p *plan) xml() *xmltree.Node {
	return xmltree.Object("plan",
		xmltree.Text("id", p.id), xmltree.Text("name", p.name), xmltree.Null("description"),
		xmltree.Text("price", string(braintree.NewAmount(p.price, p.currency))), xmltree.Text("currency_iso_code", p.currency),
		xmltree.Int("billing_frequency", p.months), xmltree.Null("billing_day_of_month"), intOrNull("number_of_billing_cycles", p.cycles),
		xmltree.Bool("trial_period", p.trialDays > 0), intOrNull("trial_duration", p.trialDays), xmltree.TextOrNull("trial_duration_unit", unitOf(p.trialDays)),
		xmltree.Array("add_ons"), xmltree.Array("discounts"),
		xmltree.DateTime("created_at", p.created), xmltree.DateTime("updated_at", p.created),
	)
}

func unitOf(trialDays int) string {
	if trialDays > 0 {
		return "day"
	}
	return ""
}

func intOrNull(name string, i int) *xmltree.Node {
	if i == 0 {
		return xmltree.Null(name)
	}
	return xmltree.Int(name, i)
}

func (b *book) listPlans(command) reply {
	list := xmltree.Array("plans")
	for _, p := range b.plans.order {
		list.Children = append(list.Children, p.xml())
	}
	return ok(list)
}

func (b *book) findPlan(_ command, p *plan) reply {
	return ok(p.xml())
}

// createPlan creates a plan from the fields that the lab supports.
func (b *book) createPlan(c command) reply {
	in := c.body.At("plan")
	p := &plan{
		id: in.Value("id"), name: in.Value("name"), currency: in.Value("currency_iso_code"), created: b.now,
		months: number(in, "billing_frequency"), trialDays: number(in, "trial_duration"), cycles: number(in, "number_of_billing_cycles"),
	}
	price, err := braintree.Amount(in.Value("price")).Minor(p.currency)
	p.price = price
	if p.id == "" {
		p.id = b.id("plan")
	}
	if err != nil || price < 0 || !validID(p.id) || p.currency == "" || p.months < 1 || p.trialDays < 0 || p.cycles < 0 || b.plans.find(p.id) != nil {
		return refused(problems{{[]string{"plan"}, "base", "", "A plan has an id of its own, a price, a currency and a frequency in months."}}, nil)
	}
	b.plans.put(p.id, p)
	return created(p.xml())
}
