package braintree

import (
	"context"
	"iter"
	"net/http"
	"time"

	"kith/backend/gateway/xmltree"
	"kith/core"
)

// Search selects subscriptions; zero fields are ignored.
type Search struct {
	PlanIDs  []string
	Statuses []Status
	// CreatedFrom and CreatedTo are both inclusive.
	CreatedFrom, CreatedTo core.Time
}

// maxPage bounds the size of a page, whatever size the gateway returns.
const maxPage = 100

// Subscription reads a subscription.
func (c *Client) Subscription(ctx context.Context, id string) (Subscription, error) {
	doc, err := c.get(ctx, "subscriptions", id)
	if err != nil {
		return Subscription{}, err
	}
	return expect(doc, "subscription", (*reader).subscription)
}

// SubscriptionIDs returns the ids of all matching subscriptions, in the gateway's order.
func (c *Client) SubscriptionIDs(ctx context.Context, s Search) ([]string, error) {
	ids, _, err := c.searchIDs(ctx, s)
	return ids, err
}

// Subscriptions iterates over all matching subscriptions, in the gateway's order, and
// reads them page by page. An error ends the iteration.
func (c *Client) Subscriptions(ctx context.Context, s Search) iter.Seq2[Subscription, error] {
	return func(yield func(Subscription, error) bool) {
		ids, size, err := c.searchIDs(ctx, s)
		if err != nil {
			yield(Subscription{}, err)
			return
		}
		for len(ids) > 0 {
			n := min(size, len(ids))
			page, err := c.searchPage(ctx, s, ids[:n])
			if err != nil {
				yield(Subscription{}, err)
				return
			}
			for _, found := range page {
				if !yield(found, nil) {
					return
				}
			}
			ids = ids[n:]
		}
	}
}

// searchIDs returns the ids of all matching subscriptions, and the size of a page.
func (c *Client) searchIDs(ctx context.Context, s Search) ([]string, int, error) {
	doc, err := c.send(ctx, http.MethodPost, s.criteria(nil), "subscriptions", "advanced_search_ids")
	if err != nil {
		return nil, 0, err
	}
	size := maxPage
	ids, err := expect(doc, "search_results", func(r *reader, n *xmltree.Node) []string {
		if named := r.number(n, "page_size"); named > 0 {
			size = min(named, maxPage)
		}
		return each(n.Items("ids"), func(item *xmltree.Node) string { return item.Text })
	})
	return ids, size, err
}

func (c *Client) searchPage(ctx context.Context, s Search, ids []string) ([]Subscription, error) {
	doc, err := c.send(ctx, http.MethodPost, s.criteria(ids), "subscriptions", "advanced_search")
	if err != nil {
		return nil, err
	}
	return expect(doc, "subscriptions", func(r *reader, n *xmltree.Node) []Subscription {
		var page []Subscription
		for _, item := range n.Children {
			if item.Name == "subscription" {
				page = append(page, r.subscription(item))
			}
		}
		return page
	})
}

func (s Search) criteria(ids []string) *xmltree.Node {
	statuses := make([]string, len(s.Statuses))
	for i, status := range s.Statuses {
		statuses[i] = string(status)
	}
	criteria := xmltree.Object("search", list("plan_id", s.PlanIDs), list("status", statuses), list("ids", ids))
	if s.CreatedFrom != 0 || s.CreatedTo != 0 {
		criteria.Children = append(criteria.Children, xmltree.Object("created_at", bound("min", s.CreatedFrom), bound("max", s.CreatedTo)))
	}
	return criteria
}

func list(name string, values []string) *xmltree.Node {
	if len(values) == 0 {
		return nil
	}
	array := xmltree.Array(name)
	for _, v := range values {
		array.Children = append(array.Children, xmltree.Text("item", v))
	}
	return array
}

func bound(name string, at core.Time) *xmltree.Node {
	if at == 0 {
		return nil
	}
	return xmltree.DateTime(name, time.UnixMilli(int64(at)))
}
