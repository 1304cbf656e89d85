package base

import (
	"strings"

	"kith/core"
)

// TestPrefix begins the alias of a tenant's test mode (clients 2.1.3).
const TestPrefix = "test_"

// Live reports whether a tenant is no test tenant.
func Live(tenant core.TenantAlias) bool { return !strings.HasPrefix(string(tenant), TestPrefix) }

// OtherMode is the tenant of the other mode, live or test.
func OtherMode(alias core.TenantAlias) core.TenantAlias {
	if live, test := strings.CutPrefix(string(alias), TestPrefix); test {
		return core.TenantAlias(live)
	}
	return TestPrefix + alias
}
