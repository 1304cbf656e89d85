package store_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store"
	"kith/core"
	"kith/core/referral"
)

func TestLinkTarget_IsOfTheCodeOrTheFirstProgram(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		other := newTenant(t, b.db)
		second := aProgram("second")
		second.LandingURL, second.AllowedHosts, second.CookieLife = "https://second.example/", []string{"a.example"}, 77
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			require.NoError(t, putUser(ctx, tx, b.tenant, "a", "u"))
			_, err := tx.InsertProgram(ctx, b.tenant, second)
			require.NoError(t, err)
			_, err = tx.InsertCode(ctx, b.tenant, referral.UserCode{Program: "second", Code: "Anna-10"}, "a", "u")
			require.NoError(t, err)
			_, err = tx.ClaimSite(ctx, string(b.tenant)+".example", b.tenant)
			return err
		})
		tenant, err := b.db.Tenant(t.Context(), b.tenant)
		require.NoError(t, err)
		first, err := b.db.FirstProgram(t.Context(), b.tenant)
		require.NoError(t, err)
		for code, want := range map[core.ReferralCode]store.LinkTarget{
			"anna-10": {Tenant: b.tenant, Policy: tenant.Policy, Code: "Anna-10", Program: second.Program},
			"NOBODY":  {Tenant: b.tenant, Policy: tenant.Policy, Program: first.Program},
			"":        {Tenant: b.tenant, Policy: tenant.Policy, Program: first.Program},
		} {
			got, err := b.db.LinkTarget(t.Context(), b.tenant, code)
			require.NoError(t, err)
			require.Equal(t, want, got, code)
			got, ok, err := b.db.LinkTargetOnHost(t.Context(), string(b.tenant)+".example", code)
			require.NoError(t, err)
			require.True(t, ok)
			require.Equal(t, want, got, code)
		}
		got, err := b.db.LinkTarget(t.Context(), other, "Anna-10")
		require.NoError(t, err)
		require.Empty(t, got.Code, "of another tenant")
		_, err = b.db.LinkTarget(t.Context(), "nobody", "Anna-10")
		require.Equal(t, core.UnknownTenant(), err)
	})
}
