package unit

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store"
	"kith/backend/store/referraldb"
	"kith/backend/store/rewarddb"
	"kith/backend/store/sqltest"
	"kith/backend/store/userdb"
)

// The complete statements that store rows name the tenant.
func TestPuts_NameTheTenant(t *testing.T) {
	t.Parallel()
	columns := sqltest.TenantColumns(t)
	for _, p := range []*store.Put{userdb.PutAccounts, userdb.PutCodes, referraldb.PutDecisions, putEvents, putIntake, rewarddb.PutNew, rewarddb.PutEntries, rewarddb.PutStates, referraldb.Put, userdb.PutUsers} {
		for _, text := range p.Statements() {
			require.Empty(t, sqltest.MissingTenants(text, columns), p.Table)
		}
	}
}
