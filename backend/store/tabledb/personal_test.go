package tabledb

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store/sqltest"
)

// The complete condition of each table names the tenant.
func TestPersonal_NamesTheTenant(t *testing.T) {
	t.Parallel()
	columns := sqltest.TenantColumns(t)
	for table, where := range personal {
		if where != "" {
			require.Empty(t, sqltest.MissingTenants(`SELECT 1 FROM `+table+` WHERE `+where, columns), table)
		}
	}
}
