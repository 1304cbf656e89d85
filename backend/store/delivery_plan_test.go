package store

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The lines that are due are found by looking at one delivery of each, however
// many wait behind it.
func TestWebhookLines_LooksAtHeadsOnly(t *testing.T) {
	t.Parallel()
	p, err := Open("file:"+filepath.Join(t.TempDir(), "kith.db"), "")
	require.NoError(t, err)
	defer p.Close()
	require.NoError(t, p.Migrate(t.Context(), 1))
	rows, err := p.read.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+webhookLines, 1, 1)
	require.NoError(t, err)
	defer rows.Close()
	var looks []string
	for rows.Next() {
		var id, parent, unused int
		var step string
		require.NoError(t, rows.Scan(&id, &parent, &unused, &step))
		for _, table := range []string{"webhook_delivery", " d ", " n ", " s "} {
			if strings.Contains(step, table) {
				looks = append(looks, step)
				break
			}
		}
	}
	require.NoError(t, rows.Err())
	require.ElementsMatch(t, []string{
		// The first head: the first row of the index.
		"SCAN webhook_delivery USING COVERING INDEX webhook_delivery_line",
		"SEARCH d USING INTEGER PRIMARY KEY (rowid=?)",
		"SEARCH n USING COVERING INDEX webhook_delivery_line (tenant=? AND url>?)",
		"SEARCH n USING COVERING INDEX webhook_delivery_line (tenant>?)",
		"SEARCH d USING INTEGER PRIMARY KEY (rowid=?)",
		"SEARCH s USING PRIMARY KEY (tenant=? AND url=?)",
	}, looks)
}
