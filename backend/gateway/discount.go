package gateway

import (
	"context"
	"fmt"
	"net/http"

	"kith/backend/gateway/xmltree"
)

// Discounts are those that the merchant has made, for the check of a connection:
// the tenant's discount must be among them.
func (c *Client) Discounts(ctx context.Context) ([]Modification, error) {
	doc, err := c.get(ctx, "discounts")
	if err != nil {
		return nil, err
	}
	return expect(doc, "discounts", func(r *reader, n *xmltree.Node) []Modification { return each(n.Items(), r.modification) })
}

// AddDiscount puts a discount on a subscription, in the currency of its plan.
// A subscription has a discount once: a second is SwitchToUpdate.
func (c *Client) AddDiscount(ctx context.Context, subscriptionID, discountID string, amount Amount) (Subscription, error) {
	return c.changeDiscounts(ctx, subscriptionID, "add", xmltree.Object("item",
		xmltree.Text("inherited_from_id", discountID), xmltree.Text("amount", string(amount))))
}

// UpdateDiscount sets the amount of a discount that the subscription has.
func (c *Client) UpdateDiscount(ctx context.Context, subscriptionID, discountID string, amount Amount) (Subscription, error) {
	return c.changeDiscounts(ctx, subscriptionID, "update", xmltree.Object("item",
		xmltree.Text("existing_id", discountID), xmltree.Text("amount", string(amount))))
}

// RemoveDiscount takes a discount off a subscription; where it is not, that is
// AlreadyDone.
func (c *Client) RemoveDiscount(ctx context.Context, subscriptionID, discountID string) (Subscription, error) {
	return c.changeDiscounts(ctx, subscriptionID, "remove", xmltree.Text("item", discountID))
}

// changeDiscounts makes one change, with absolute amounts, so that it may be
// repeated. Proration is switched off, whatever the merchant has set: with it,
// taking a discount away charges the customer at once. All other discounts are
// the merchant's and stay; the option that replaces all is never sent.
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
