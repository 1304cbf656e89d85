package braintree

import (
	"context"

	"kith/backend/gateway/xmltree"
)

// Plan is a plan to which customers subscribe.
type Plan struct {
	ID    string
	Name  string
	Price Amount
	// Currency is the currency of all subscriptions to the plan.
	Currency string
	// Months is the length of a billing cycle.
	Months int
}

// Plans returns the plans that the merchant has created.
func (c *Client) Plans(ctx context.Context) ([]Plan, error) {
	doc, err := c.get(ctx, "plans")
	if err != nil {
		return nil, err
	}
	return expect(doc, "plans", func(r *reader, n *xmltree.Node) []Plan { return each(n.Items(), r.plan) })
}

func (r *reader) plan(n *xmltree.Node) Plan {
	return Plan{
		ID: n.Value("id"), Name: n.Value("name"), Price: r.amount(n, "price"), Currency: n.Value("currency_iso_code"),
		Months: r.number(n, "billing_frequency"),
	}
}
