package store_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store"
	"kith/backend/store/programdb"
	"kith/backend/store/rowtest"
	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/referral"
	"kith/core/reward"
)

// Every edit of what edges keep is reported, and nothing else is.
func TestEdited(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		second := aProgram("second")
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			require.NoError(t, putUser(ctx, tx, b.tenant, "a", "u"))
			_, err := programdb.Insert(ctx, tx, b.tenant, second)
			require.NoError(t, err)
			_, err = rowtest.InsertCode(ctx, tx, b.tenant, referral.UserCode{Program: "second", Code: "Anna-10"}, "a", "u")
			require.NoError(t, err)
			return nil
		})
		b.exec(t, `INSERT INTO api_key (tenant, hash, sealed, name, role, created_at) VALUES ('$T', 'h', '', 'k', 'all', 1)`)
		require.Positive(t, b.lastEdit(t, newTenant(t, b.db)), "a tenant of this alias may have been erased before")
		all, err := tenantdb.EditedSince(t.Context(), b.db.Reads, -1)
		require.NoError(t, err)
		require.Empty(t, all.Tenants, "at first, all may have been edited")
		last := b.lastEdit(t, b.tenant)
		edited := func() bool {
			t.Helper()
			before := last
			last = b.lastEdit(t, b.tenant)
			return last > before
		}
		for _, statement := range []string{
			`UPDATE user SET first_name = 'Bob', updated_at = 9 WHERE tenant = '$T'`,
			`UPDATE api_key SET used_at = 7 WHERE tenant = '$T'`,
			`UPDATE code SET link_only = 0 WHERE tenant = '$T'`,
			`UPDATE tenant SET time_zone = 'Europe/Berlin' WHERE alias = '$T'`,
			`UPDATE user SET blocked_at = NULL WHERE tenant = '$T'`,
		} {
			b.exec(t, statement)
			require.False(t, edited(), statement)
		}
		for _, statement := range []string{
			`UPDATE tenant SET link_max_age = 5 WHERE alias = '$T'`,
			`UPDATE tenant SET consent = 'opt-in', consent_cookie = 'c' WHERE alias = '$T'`,
			`UPDATE program SET landing_url = 'https://x.example' WHERE tenant = '$T' AND key = 'second'`,
			`UPDATE program SET allowed_hosts = '["x"]' WHERE tenant = '$T' AND key = 'second'`,
			`UPDATE user SET blocked_at = 3 WHERE tenant = '$T'`,
			`UPDATE api_key SET expires_at = 5 WHERE tenant = '$T'`,
			`DELETE FROM api_key WHERE tenant = '$T'`,
			`DELETE FROM code WHERE tenant = '$T'`,
		} {
			b.exec(t, statement)
			require.True(t, edited(), statement)
			require.False(t, edited(), "reported twice: "+statement)
		}
		before := second
		second.Referred = reward.Offer{Kind: reward.PercentDiscount, Percent: 500, Unit: "%"}
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			return programdb.Update(ctx, tx, b.tenant, second, before)
		})
		require.True(t, edited(), "another offer")
		// Tests of other tenants edit the same database.
		if got, err := tenantdb.EditedSince(t.Context(), b.db.Reads, last-1); len(got.Tenants) > 0 {
			require.NoError(t, err)
			require.Contains(t, got.Tenants, b.tenant)
		}
	})
}

// lastEdit returns the number of the last edit of a tenant.
func (b bundle) lastEdit(t testing.TB, tenant core.TenantAlias) (number int64) {
	t.Helper()
	require.NoError(t, b.raw(t).QueryRowContext(t.Context(), `SELECT coalesce(max(seq), 0) FROM edge_edit WHERE tenant = ?`, string(tenant)).Scan(&number))
	return number
}

// exec runs a statement, with the tenant for $T.
func (b bundle) exec(t testing.TB, statement string) {
	t.Helper()
	_, err := b.raw(t).ExecContext(t.Context(), strings.ReplaceAll(statement, "$T", string(b.tenant)))
	require.NoError(t, err)
}
