package store

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store/sqldtest"
	"kith/core"
	"kith/core/link"
	"kith/core/referral"
)

// Nobody gets an alias that differs from another in case only. Where there are such
// tenants, each finds its own users only.
func TestTenant_AliasesThatDifferInCase(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{
		"server": sqldtest.Start(t).PrimaryURL(),
		"file":   "file:" + filepath.Join(t.TempDir(), "new.db"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			p, err := Open(url, "")
			require.NoError(t, err)
			t.Cleanup(func() { _ = p.Close() })
			require.NoError(t, p.Migrate(ctx, 1))
			all := []core.TenantAlias{"shop", "Shop", "SHOP", "other"}
			for i, alias := range all {
				_, err := p.write.ExecContext(ctx, `INSERT INTO tenant (alias, key_hash, key_sealed, discount_id, consent, consent_cookie, created_at, namesake)
					VALUES (?1, ?1, 's', 'd', 'off', '', 1, ?2)`, string(alias), number(i == 1 || i == 2))
				require.NoError(t, err)
				for _, statement := range []string{
					`INSERT INTO account (tenant, id, currency, status, billing_interval, billing_value, value, identified, created_at, updated_at) VALUES ('SHOP', 'a-SHOP', '', 'PAID', '', 0, '', 0, 1, 1)`,
					`INSERT INTO user (tenant, account_id, id, first_name, last_name, email, image_url, locale, country_code, referable, custom_fields, segments, created_at, updated_at, terms)
						VALUES ('SHOP', 'a-SHOP', 'u', 'Ann', '', '', '', '', '', 1, '{}', '[]', 1, 1, 'TERM/ann' || char(31) || 'TERM/shop/x')`,
					`INSERT INTO user_index (rowid, terms) SELECT seq, terms FROM user WHERE tenant = 'SHOP'`,
				} {
					statement = strings.NewReplacer("SHOP", string(alias), "TERM/", indexed(alias, "")).Replace(statement)
					_, err := p.write.ExecContext(ctx, statement)
					require.NoError(t, err, statement)
				}
			}
			for _, alias := range all {
				for _, word := range []string{"ann", "an", "shop/"} {
					page, total, err := p.Users(ctx, alias, referral.UserFilter{Words: []string{word}, Limit: 10})
					require.NoError(t, err)
					require.Equal(t, 1, total, "%s: %s", alias, word)
					require.Equal(t, core.AccountID("a-"+alias), page[0].Account)
				}
			}
			var found int
			// Not even the index mixes them up.
			require.NoError(t, p.read.QueryRowContext(ctx, `SELECT count(*) FROM user_index WHERE user_index MATCH ?`, matching("Shop", []string{"ann"})).Scan(&found))
			require.Equal(t, 1, found)
			_, err = p.write.ExecContext(ctx, `INSERT INTO user_index (user_index, rank) VALUES ('integrity-check', 1)`)
			require.NoError(t, err)

			require.NoError(t, p.Write(ctx, 2, func(tx *Tx) error {
				for alias, want := range map[core.TenantAlias]bool{"shop": false, "sHop": false, "OTHER": false, "shop2": true} {
					added, err := tx.InsertTenant(ctx, Tenant{Alias: alias, DiscountID: "d", Policy: link.Policy{Consent: link.ConsentOff}})
					require.NoError(t, err)
					require.Equal(t, want, added, alias)
				}
				for alias, want := range map[core.TenantAlias]core.TenantAlias{"Shop": "Shop", "OTHER": "other", "none": ""} {
					taken, err := tx.TenantNamed(ctx, alias)
					require.NoError(t, err)
					require.Equal(t, want, taken)
				}
				_, err := tx.Tenant(ctx, "OTHER")
				require.Error(t, err, "a look-up is exact")
				return nil
			}))
			_, err = p.write.ExecContext(ctx, `INSERT INTO tenant (alias, key_hash, key_sealed, discount_id, consent, consent_cookie, created_at) VALUES ('OTHER', 'o', 's', 'd', 'off', '', 1)`)
			require.ErrorContains(t, err, "UNIQUE")
		})
	}
}
