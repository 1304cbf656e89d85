package gateway

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
	if err != nil {
		return nil, err
	}
	return expect(doc, "discounts", func(r *reader, n *xmltree.Node) []Modification { return each(n.Items(), r.modification) })
}

// AddDiscount adds a discount to a subscription, in the currency of its plan. If the
// subscription has it already, the error has the action SwitchToUpdate.
func (c *Client) AddDiscount(ctx context.Context, subscriptionID, discountID string, amount Amount) (Subscription, error) {
	return c.changeDiscounts(ctx, subscriptionID, "add", xmltree.Object("item",
		xmltree.Text("inherited_from_id", discountID), xmltree.Text("amount", string(amount))))
}

// UpdateDiscount sets the amount of a discount that the subscription has.
func (c *Client) UpdateDiscount(ctx context.Context, subscriptionID, discountID string, amount Amount) (Subscription, error) {
	return c.changeDiscounts(ctx, subscriptionID, "update", xmltree.Object("item",
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
	if err != nil {
		return Subscription{}, err
	}
	return expect(doc, "subscription", (*reader).subscription)
}
