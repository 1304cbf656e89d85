package leasedb

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store"
	"kith/backend/store/sqltest"
)

// A table with leases that is not in the list would keep the work of a process that was killed.
func TestLeased_HasEachTable(t *testing.T) {
	t.Parallel()
	r := store.NewReads(sqltest.File(t))
	tables, err := store.List[string](t.Context(), r, "tables with leases", `SELECT m.name FROM sqlite_schema m
		JOIN pragma_table_info(m.name) c ON c.name = 'leased_by' WHERE m.type = 'table'`)
	require.NoError(t, err)
	known := make([]string, len(leased))
	for i, l := range leased {
		known[i] = l.table
	}
	require.ElementsMatch(t, tables, known)
}
