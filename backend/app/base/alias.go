package base

import (
	"strings"

	"kith/core"
)

// TestPrefix begins the alias of a test tenant (clients 2.1.3).
const TestPrefix = "test_"

// Live reports whether a tenant is a live tenant, not a test tenant.
func Live(tenant core.TenantAlias) bool { return !strings.HasPrefix(string(tenant), TestPrefix) }

// OtherMode returns the alias of the same tenant in the other mode: the test tenant of
// a live tenant, or the live tenant of a test tenant.
func OtherMode(alias core.TenantAlias) core.TenantAlias {
	if live, test := strings.CutPrefix(string(alias), TestPrefix); test {
		return core.TenantAlias(live)
	}
	return TestPrefix + alias
}
