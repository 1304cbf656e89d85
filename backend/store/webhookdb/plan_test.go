package webhookdb

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store/sqltest"
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
