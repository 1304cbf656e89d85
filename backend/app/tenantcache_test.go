package app_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kith/core"
)

// What was read a moment ago refuses wrong credentials; right ones, and those of a
// tenant of which nothing was read, are for Authenticate.
func TestWrongByCache_RefusesOnlyWrongCredentials(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	right, wrong := basic("", b.key), basic("", "wrong")
	require.False(t, b.Callers.WrongByCache(b.tenant, wrong, ""), "nothing was read")
	_, err := b.Callers.Authenticate(t.Context(), b.tenant, right, "")
	require.NoError(t, err)
	require.True(t, b.Callers.WrongByCache(b.tenant, wrong, ""))
	require.True(t, b.Callers.WrongByCache(b.tenant, "Bearer eyJhbGciOiJub25lIn0.e30.", ""))
	require.True(t, b.Callers.WrongByCache(b.tenant, "", "no token"))
	require.False(t, b.Callers.WrongByCache(b.tenant, right, ""))
	require.False(t, b.Callers.WrongByCache("nobody", wrong, ""))
	require.True(t, b.Callers.WrongByCache("nobody", "Basic ?", ""), "no form that credentials have")
	b.pass(core.Second)
	require.False(t, b.Callers.WrongByCache(b.tenant, wrong, ""), "what was read is too old")
}

// A key that was revoked is refused at once, whatever was read a moment ago.
func TestWrongByCache_AdmitsNoCaller(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	key := basic("", b.key)
	_, err := b.Callers.Authenticate(t.Context(), b.tenant, key, "")
	require.NoError(t, err)
	require.NoError(t, b.APIKeys.Revoke(t.Context(), b.tenant, "default", true))
	require.False(t, b.Callers.WrongByCache(b.tenant, key, ""), "it was right a moment ago")
	_, err = b.Callers.Authenticate(t.Context(), b.tenant, key, "")
	require.Error(t, err)
	require.True(t, b.Callers.WrongByCache(b.tenant, key, ""))
}

// A key of the other mode is named to its holder.
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
