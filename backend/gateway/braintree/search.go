package braintree

import (
	"context"
	"net/http"
	"time"

	"kith/backend/gateway/xmltree"
	"kith/core"
)

// Search selects subscriptions; zero fields are ignored.
type Search struct {
	Statuses []Status
	// CreatedFrom is inclusive.
	CreatedFrom core.Time
}

// Subscription reads a subscription.
func (c *Client) Subscription(ctx context.Context, id string) (Subscription, error) {
	doc, err := c.get(ctx, "subscriptions", id)
	return expect(doc, err, "subscription", (*reader).subscription)
}

// SubscriptionIDs returns the ids of all matching subscriptions, in the gateway's order.
func (c *Client) SubscriptionIDs(ctx context.Context, s Search) ([]string, error) {
	doc, err := c.send(ctx, http.MethodPost, s.criteria(), "subscriptions", "advanced_search_ids")
	return expect(doc, err, "search_results", func(_ *reader, n *xmltree.Node) []string {
		return each(n.Items("ids"), func(item *xmltree.Node) string { return item.Text })
	})
}

func (s Search) criteria() *xmltree.Node {
	var statuses, created *xmltree.Node
	if len(s.Statuses) > 0 {
		statuses = xmltree.Array("status", each(s.Statuses, func(status Status) *xmltree.Node { return xmltree.Text("item", string(status)) })...)
	}
	if s.CreatedFrom != 0 {
		created = xmltree.Object("created_at", xmltree.DateTime("min", time.UnixMilli(int64(s.CreatedFrom))))
	}
	return xmltree.Object("search", statuses, created)
}
