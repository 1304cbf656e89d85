package userdb

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store"
	"kith/backend/store/sqldtest"
	"kith/backend/store/storetest"
	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/link"
	"kith/core/referral"
)

// No tenant gets an alias that differs from another only in case. Where such tenants
// exist, each finds only its own users.
func TestTenant_AliasesDifferingInCase(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{
		"server": sqldtest.Start(t).PrimaryURL(),
		"file":   "file:" + filepath.Join(t.TempDir(), "new.db"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			p, err := store.Open(url, "")
			require.NoError(t, err)
			t.Cleanup(func() { _ = p.Close() })
			require.NoError(t, p.Migrate(ctx, 1))
			run := func(statement string, args ...any) error {
				return p.Write(ctx, 1, func(tx *store.Tx) error { return tx.Exec(ctx, "test", statement, args...) })
			}
			all := []core.TenantAlias{"shop", "Shop", "SHOP", "other"}
			for i, alias := range all {
				err := run(`INSERT INTO tenant (alias, key_hash, key_sealed, discount_id, consent, consent_cookie, created_at, namesake)
					VALUES (?1, ?1, 's', 'd', 'off', '', 1, ?2)`, string(alias), store.BoolInt(i == 1 || i == 2))
				require.NoError(t, err)
				for _, statement := range []string{
					`INSERT INTO account (tenant, id, currency, status, billing_interval, billing_value, value, identified, created_at, updated_at) VALUES ('SHOP', 'a-SHOP', '', 'PAID', '', 0, '', 0, 1, 1)`,
					`INSERT INTO user (tenant, account_id, id, first_name, last_name, email, image_url, locale, country_code, referable, custom_fields, segments, created_at, updated_at, terms)
						VALUES ('SHOP', 'a-SHOP', 'u', 'Ann', '', '', '', '', '', 1, '{}', '[]', 1, 1, 'TERM/ann' || char(31) || 'TERM/shop/x')`,
					`INSERT INTO user_index (rowid, terms) SELECT seq, terms FROM user WHERE tenant = 'SHOP'`,
				} {
					statement = strings.NewReplacer("SHOP", string(alias), "TERM/", indexTerm(alias, "")).Replace(statement)
					require.NoError(t, run(statement), statement)
				}
			}
			for _, alias := range all {
				for _, word := range []string{"ann", "an", "shop/"} {
					page, total, err := Users(ctx, p.Reads, alias, referral.UserFilter{Words: []string{word}, Limit: 10})
					require.NoError(t, err)
					require.Equal(t, 1, total, "%s: %s", alias, word)
					require.Equal(t, core.AccountID("a-"+alias), page[0].Account)
				}
			}
			var found int
			// The index keeps them apart, too.
			require.NoError(t, p.QueryRowContext(ctx, `SELECT count(*) FROM user_index_term WHERE term = ?`, indexTerm("Shop", "ann")).Scan(&found))
			require.Equal(t, 1, found)
			storetest.RequireIndexed(t, p.Reads)

			require.NoError(t, p.Write(ctx, 2, func(tx *store.Tx) error {
				for alias, want := range map[core.TenantAlias]bool{"shop": false, "sHop": false, "OTHER": false, "shop2": true} {
					added, err := tenantdb.Insert(ctx, tx, tenantdb.Tenant{Alias: alias, DiscountID: "d", Policy: link.Policy{Consent: link.ConsentOff}})
					require.NoError(t, err)
					require.Equal(t, want, added, alias)
				}
				for alias, want := range map[core.TenantAlias]core.TenantAlias{"Shop": "Shop", "OTHER": "other", "none": ""} {
					taken, err := tenantdb.FindAlias(ctx, tx.Reads, alias)
					require.NoError(t, err)
					require.Equal(t, want, taken)
				}
				_, err := tenantdb.Find(ctx, tx.Reads, "OTHER")
				require.Error(t, err, "Find is case-sensitive")
				return nil
			}))
			err = run(`INSERT INTO tenant (alias, key_hash, key_sealed, discount_id, consent, consent_cookie, created_at) VALUES ('OTHER', 'o', 's', 'd', 'off', '', 1)`)
			require.ErrorContains(t, err, "UNIQUE")
		})
	}
}
