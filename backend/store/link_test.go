package store_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store"
	"kith/backend/store/programdb"
	"kith/backend/store/rowtest"
	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/link"
	"kith/core/referral"
)

func TestTarget_IsTheProgramOfTheCodeOrTheFirst(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		other := newTenant(t, b.db)
		second := aProgram("second")
		second.LandingURL, second.AllowedHosts, second.CookieLife = "https://second.example/", []string{"a.example"}, 77
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			require.NoError(t, putUser(ctx, tx, b.tenant, "a", "u"))
			_, err := programdb.Insert(ctx, tx, b.tenant, second)
			require.NoError(t, err)
			_, err = rowtest.InsertCode(ctx, tx, b.tenant, referral.UserCode{Program: "second", Code: "Anna-10"}, "a", "u")
			require.NoError(t, err)
			_, err = tenantdb.InsertSite(ctx, tx, string(b.tenant)+".example", b.tenant)
			return err
		})
		tenant, err := tenantdb.Find(t.Context(), b.db.Reads, b.tenant)
		require.NoError(t, err)
		first, err := programdb.First(t.Context(), b.db.Reads, b.tenant)
		require.NoError(t, err)
		// Where a link is answered, a campaign that is not set is the name of the program.
		first.UTMCampaign, second.UTMCampaign = first.Name, second.Name
		for code, want := range map[core.ReferralCode]programdb.Target{
			"anna-10": {Target: link.Target{Tenant: b.tenant, Policy: tenant.Policy, Program: second.Program, MasterKey: " "}, LinkMaxAge: core.Minute, Code: "Anna-10"},
			"UNKNOWN": {Target: link.Target{Tenant: b.tenant, Policy: tenant.Policy, Program: first.Program, MasterKey: " "}, LinkMaxAge: core.Minute},
			"":        {Target: link.Target{Tenant: b.tenant, Policy: tenant.Policy, Program: first.Program, MasterKey: " "}, LinkMaxAge: core.Minute},
		} {
			got, err := programdb.TargetOf(t.Context(), b.db.Reads, b.tenant, code)
			require.NoError(t, err)
			require.Equal(t, want, got, code)
			got, ok, err := programdb.TargetOnHost(t.Context(), b.db.Reads, string(b.tenant)+".example", code)
			require.NoError(t, err)
			require.True(t, ok)
			require.Equal(t, want, got, code)
		}
		got, err := programdb.TargetOf(t.Context(), b.db.Reads, other, "Anna-10")
		require.NoError(t, err)
		require.Empty(t, got.Code, "the code belongs to another tenant")
		_, err = programdb.TargetOf(t.Context(), b.db.Reads, "unknown", "Anna-10")
		require.Equal(t, core.UnknownTenant(), err)
	})
}
