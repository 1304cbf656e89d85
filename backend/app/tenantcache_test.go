package app_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kith/core"
)

// The cache refuses only wrong credentials of a cached tenant. All others must be checked
// by Authenticate.
func TestWrongByCache_RefusesOnlyWrongCredentials(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	right, wrong := basic("", b.key), basic("", "wrong")
	require.False(t, b.Callers.WrongByCache(b.tenant, wrong, ""), "the tenant is not cached")
	_, err := b.Callers.Authenticate(t.Context(), b.tenant, right, "")
	require.NoError(t, err)
	require.True(t, b.Callers.WrongByCache(b.tenant, wrong, ""))
	require.True(t, b.Callers.WrongByCache(b.tenant, "Bearer eyJhbGciOiJub25lIn0.e30.", ""))
	require.True(t, b.Callers.WrongByCache(b.tenant, "", "no token"))
	require.False(t, b.Callers.WrongByCache(b.tenant, right, ""))
	require.False(t, b.Callers.WrongByCache("nobody", wrong, ""))
	require.True(t, b.Callers.WrongByCache("nobody", "Basic ?", ""), "malformed credentials")
	b.pass(core.Second)
	require.False(t, b.Callers.WrongByCache(b.tenant, wrong, ""), "the entry has expired")
}

// A revoked key is refused at once, even if the cache has it.
func TestWrongByCache_AdmitsNoCaller(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	key := basic("", b.key)
	_, err := b.Callers.Authenticate(t.Context(), b.tenant, key, "")
	require.NoError(t, err)
	require.NoError(t, b.APIKeys.Revoke(t.Context(), b.tenant, "default", true))
	require.False(t, b.Callers.WrongByCache(b.tenant, key, ""), "the cache still has the key")
	_, err = b.Callers.Authenticate(t.Context(), b.tenant, key, "")
	require.Error(t, err)
	require.True(t, b.Callers.WrongByCache(b.tenant, key, ""))
}

// The error for a key of the other mode names that mode's tenant.
func TestExplainWrongKey_NamesTheOtherMode(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	test := "test_" + b.tenant
	key := b.APIKeys.MakeKey(test)
	require.NoError(t, b.Tenants.Create(t.Context(), aTenant(test, key)))
	for credentials, says := range map[string]string{basic("", key): string(test), basic("", "wrong"): ""} {
		_, err := b.Callers.Authenticate(t.Context(), b.tenant, credentials, "")
		require.NotContains(t, err.Error(), "test_")
		require.Contains(t, b.Callers.ExplainWrongKey(t.Context(), b.tenant, credentials, err).Error(), says)
	}
	require.Equal(t, core.UnknownTenant(), b.Callers.ExplainWrongKey(t.Context(), "nobody", basic("", key), core.UnknownTenant()))
}
