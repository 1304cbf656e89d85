package braintree

import (
	"context"

	"kith/backend/gateway/xmltree"
)

// Plan is a plan to which customers subscribe.
type Plan struct {
	ID string
	// Currency is the currency of all subscriptions to the plan.
	Currency string
}

// Plans returns the plans that the merchant has created.
func (c *Client) Plans(ctx context.Context) ([]Plan, error) {
	doc, err := c.get(ctx, "plans")
	return expect(doc, err, "plans", func(r *reader, n *xmltree.Node) []Plan { return each(n.Items(), r.plan) })
}

func (r *reader) plan(n *xmltree.Node) Plan {
	return Plan{ID: n.Value("id"), Currency: n.Value("currency_iso_code")}
}
