package braintree

import (
	"context"
	"fmt"
	"net/http"

	"kith/backend/gateway/xmltree"
)

// Discounts returns the discounts that the merchant has created. The check of a
// connection uses it: the tenant's discount must be among them.
func (c *Client) Discounts(ctx context.Context) ([]Modification, error) {
	doc, err := c.get(ctx, "discounts")
	return expect(doc, err, "discounts", func(r *reader, n *xmltree.Node) []Modification { return each(n.Items(), r.modification) })
}

// Duration says for how many bills a discount applies.
type Duration struct {
	// Bills is the number of bills since the discount was added. The gateway then
	// removes the discount.
	Bills int
	// Forever is true if it applies to all bills. If Bills is 0 too, the duration does
	// not change; that of a new discount is the merchant's.
	Forever bool
}

// item returns the form of a change with the duration.
func (d Duration) item(fields ...*xmltree.Node) *xmltree.Node {
	switch {
	case d.Forever:
		fields = append(fields, xmltree.Bool("never_expires", true))
	case d.Bills > 0:
		fields = append(fields, xmltree.Bool("never_expires", false), xmltree.Int("number_of_billing_cycles", d.Bills))
	}
	return xmltree.Object("item", fields...)
}

// AddDiscount adds a discount to a subscription, in the currency of its plan. If the
// subscription has it already, the error has the action SwitchToUpdate.
func (c *Client) AddDiscount(ctx context.Context, subscriptionID, discountID string, amount Amount, d Duration) (Subscription, error) {
	return c.changeDiscounts(ctx, subscriptionID, "add", d.item(
		xmltree.Text("inherited_from_id", discountID), xmltree.Text("amount", string(amount))))
}

// UpdateDiscount sets the amount and the duration of a discount that the subscription has.
func (c *Client) UpdateDiscount(ctx context.Context, subscriptionID, discountID string, amount Amount, d Duration) (Subscription, error) {
	return c.changeDiscounts(ctx, subscriptionID, "update", d.item(
		xmltree.Text("existing_id", discountID), xmltree.Text("amount", string(amount))))
}

// RemoveDiscount removes a discount from a subscription. If the subscription does not
// have it, the error has the action AlreadyDone.
func (c *Client) RemoveDiscount(ctx context.Context, subscriptionID, discountID string) (Subscription, error) {
	return c.changeDiscounts(ctx, subscriptionID, "remove", xmltree.Text("item", discountID))
}

// changeDiscounts makes one change. Amounts are absolute, so that the change may be
// repeated. Proration is switched off, whatever the merchant has set: with it, removing
// a discount charges the customer at once. The merchant's other discounts are unchanged:
// the option that replaces all is never sent.
func (c *Client) changeDiscounts(ctx context.Context, subscriptionID, change string, item *xmltree.Node) (Subscription, error) {
	if amount := item.At("amount"); amount != nil {
		if _, _, err := Amount(amount.Text).split(); err != nil {
			return Subscription{}, &Error{Action: Alert, Err: fmt.Errorf("discount: %w", err)}
		}
	}
	doc, err := c.send(ctx, http.MethodPut, xmltree.Object("subscription",
		xmltree.Object("discounts", xmltree.Array(change, item)),
		xmltree.Object("options", xmltree.Bool("prorate_charges", false)),
	), "subscriptions", subscriptionID)
	return expect(doc, err, "subscription", (*reader).subscription)
}
