package webhookdb

import (
	"context"

	"kith/backend/store"
	"kith/core"
	"kith/core/webhook"
)

// DeliveryPage returns up to limit deliveries to an endpoint that a filter selects, newest
// event first, with their latest attempts.
func DeliveryPage(ctx context.Context, r store.Reads, queue webhook.Queue, f webhook.DeliveryFilter, limit int) ([]webhook.Delivery, error) {
	query, args := deliveryPage(queue, f, limit)
	rows, err := r.QueryContext(ctx, query, args...)
	page, err := deliveryColumns.All(rows, err, "webhook deliveries")
	if err != nil || len(page) == 0 {
		return nil, err
	}
	return page, attachAttempts(ctx, r, queue, page)
}

// deliveryPage returns the statement of DeliveryPage and its arguments. An index has the
// deliveries that are not delivered, by state. Delivered ones are most of all, so that
// the first ones of the queue have them.
func deliveryPage(queue webhook.Queue, f webhook.DeliveryFilter, limit int) (query string, args []any) {
	index, state := ``, ``
	switch f.State {
	case "":
	case webhook.Delivered:
		state = ` AND d.state = 'delivered'`
	default:
		index, state = `INDEXED BY webhook_delivery_state`, ` AND d.state <> 'delivered' AND d.state = ?4`
	}
	before := f.Before
	if before == "" {
		before = "~" // after each id
	}
	return `SELECT ` + deliveryColumns.SQL() + `
		FROM webhook_delivery d ` + index + ` JOIN webhook_event e ON e.tenant = d.tenant AND e.id = d.event_id
		WHERE d.tenant = ?1 AND d.url = ?2 AND d.event_id < ?3` + state + ` ORDER BY d.event_id DESC LIMIT ?5`,
		[]any{string(queue.Tenant), string(queue.Endpoint), before, string(f.State), limit}
}

// Delivery returns a delivery with its latest attempts; ok is false if it does not exist.
func Delivery(ctx context.Context, r store.Reads, key webhook.DeliveryKey) (d webhook.Delivery, ok bool, err error) {
	ok, err = deliveryColumns.One(r.QueryRowContext(ctx, `SELECT `+deliveryColumns.SQL()+`
		FROM webhook_delivery d JOIN webhook_event e ON e.tenant = d.tenant AND e.id = d.event_id
		WHERE d.tenant = ? AND d.url = ? AND d.event_id = ?`, string(key.Tenant), string(key.Endpoint), key.Event), "webhook delivery", &d)
	if err != nil || !ok {
		return d, false, err
	}
	one := []webhook.Delivery{d}
	err = attachAttempts(ctx, r, webhook.Queue{Tenant: key.Tenant, Endpoint: key.Endpoint}, one)
	return one[0], true, err
}

// failedOf is the number of failed deliveries to an endpoint.
type failedOf struct {
	endpoint webhook.Endpoint
	n        int
}

var failedColumns = store.Selection[failedOf]{
	store.Col(`s.url`, func(f *failedOf) any { return &f.endpoint }),
	store.Col(`(SELECT count(*) FROM (SELECT 1 FROM webhook_delivery d
		WHERE d.tenant = s.tenant AND d.url = s.url AND d.state <> 'delivered' AND d.state = 'failed' LIMIT ?2))`, func(f *failedOf) any { return &f.n }),
}

// CountFailedByEndpoint returns the number of failed deliveries to each endpoint of a tenant; it
// counts up to limit of each.
func CountFailedByEndpoint(ctx context.Context, r store.Reads, tenant core.TenantAlias, limit int) (map[webhook.Endpoint]int, error) {
	rows, err := r.QueryContext(ctx, countFailedByEndpoint(), string(tenant), limit)
	all, err := failedColumns.All(rows, err, "failed webhook deliveries")
	counts := map[webhook.Endpoint]int{}
	for _, f := range all {
		counts[f.endpoint] = f.n
	}
	return counts, err
}

func countFailedByEndpoint() string {
	return `SELECT ` + failedColumns.SQL() + ` FROM webhook_subscription s WHERE s.tenant = ?1`
}
