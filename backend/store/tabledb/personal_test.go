package tabledb

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store"
	"kith/backend/store/sqltest"
)

// The complete condition of each table names the tenant.
func TestPersonal_NamesTheTenant(t *testing.T) {
	t.Parallel()
	columns := sqltest.TenantColumns(t)
	for table, p := range PersonalData {
		if p.Rows != "" {
			require.Empty(t, sqltest.MissingTenants(`SELECT 1 FROM `+table+` WHERE `+p.Rows, columns), table)
		}
	}
}

// PersonalData has each column of the schema once, and no other. A column that is kept has a
// reason and an end.
func TestPersonalData_HasEachColumnOnce(t *testing.T) {
	t.Parallel()
	all, err := Tables(t.Context(), store.NewReads(sqltest.File(t)))
	require.NoError(t, err)
	require.Len(t, PersonalData, len(all))
	for _, table := range all {
		p := PersonalData[table.Name]
		declared := strings.Fields(p.None + " " + p.Erased)
		for _, k := range p.Kept {
			declared = append(declared, strings.Fields(k.Columns)...)
			require.NotEmpty(t, k.Reason, table.Name)
			require.NotEmpty(t, k.Until, table.Name)
		}
		var columns []string
		for _, c := range table.Columns {
			columns = append(columns, c.Name)
		}
		require.ElementsMatch(t, columns, declared, "declare the columns of %s in PersonalData, and say in docs/operate.md what an erasure leaves of them", table.Name)
	}
}
