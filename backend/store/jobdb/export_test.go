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
