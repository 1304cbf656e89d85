package jobdb

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store/sqltest"
	"kith/core/job"
)

// The complete statement of each export names its tenant.
func TestExports_NameTheTenant(t *testing.T) {
	t.Parallel()
	columns := sqltest.TenantColumns(t)
	for kind, e := range exports {
		text, _ := e.page("t", job.Params{}, nil, 1)
		require.Empty(t, sqltest.MissingTenants(text, columns), kind)
	}
}

// A page of balances reads each reward of its owners once, however many an owner has.
func TestExports_ReadRewardsOnce(t *testing.T) {
	t.Parallel()
	explained := sqltest.Explained{DB: sqltest.File(t), T: t}
	for kind, e := range exports {
		if !e.group {
			continue
		}
		text, args := e.page("t", job.Params{}, []string{"a", "u", "CREDIT", "CENTS", ""}, 10)
		for _, step := range explained.Plan(text, args) {
			require.NotContains(t, step, "CORRELATED", "%s: %s", kind, text)
		}
	}
}
