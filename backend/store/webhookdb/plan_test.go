package webhookdb

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store/sqltest"
	"kith/core/webhook"
)

// The due queues are found by reading one delivery of each, whatever its length.
func TestDueQueues_ReadsOneDeliveryOfEachQueue(t *testing.T) {
	t.Parallel()
	var looks []string
	for _, step := range (sqltest.Explained{DB: sqltest.File(t), T: t}).Plan(dueQueues, []any{1, 1}) {
		for _, table := range []string{"webhook_delivery", " d ", " n ", " s "} {
			if strings.Contains(step, table) {
				looks = append(looks, step)
				break
			}
		}
	}
	require.ElementsMatch(t, []string{
		// The head of the first queue is the first row of the index.
		"SCAN webhook_delivery USING COVERING INDEX webhook_delivery_line",
		"SEARCH d USING INTEGER PRIMARY KEY (rowid=?)",
		"SEARCH n USING COVERING INDEX webhook_delivery_line (tenant=? AND url>?)",
		"SEARCH n USING COVERING INDEX webhook_delivery_line (tenant>?)",
		"SEARCH d USING INTEGER PRIMARY KEY (rowid=?)",
		"SEARCH s USING PRIMARY KEY (tenant=? AND url=?)",
	}, looks)
}

// The delivery log finds its page by an index, in each state, counts failed deliveries
// without the others, and reads no attempt but one to know whether an endpoint was tried.
func TestDeliveryLog_UsesIndexes(t *testing.T) {
	t.Parallel()
	db := sqltest.Explained{DB: sqltest.File(t), T: t}
	queue := webhook.Queue{Tenant: "acme", Endpoint: "https://shop.example/"}
	for state, index := range map[webhook.State]string{
		"": "sqlite_autoindex_webhook_delivery_1", webhook.Delivered: "sqlite_autoindex_webhook_delivery_1",
		webhook.Failed: "webhook_delivery_state", webhook.Waiting: "webhook_delivery_state", webhook.Sending: "webhook_delivery_state",
	} {
		query, args := deliveryPage(queue, webhook.DeliveryFilter{State: state}, 51)
		plan := strings.Join(db.Plan(query, args), "\n")
		require.Contains(t, plan, "SEARCH d USING INDEX "+index, state)
		require.NotContains(t, plan, "TEMP B-TREE", state)
	}
	require.Contains(t, strings.Join(db.Plan(subscriptions(), []any{"acme"}), "\n"), "SEARCH a USING PRIMARY KEY (tenant=? AND url=?)")
	plan := strings.Join(db.Plan(countFailedByEndpoint(), []any{"acme", 1000}), "\n")
	require.Contains(t, plan, "SEARCH d USING COVERING INDEX webhook_delivery_state (tenant=? AND url=? AND state=?)")
}
