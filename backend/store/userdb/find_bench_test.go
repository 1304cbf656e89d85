package userdb_test

import (
	"path/filepath"
	"strconv"
	"testing"

	"kith/backend/store"
	"kith/backend/store/userdb"
	"kith/core/referral"
)

// BenchmarkFind searches a tenant with 1,000,000 users: for words that find one user, a
// thousandth of them and all of them, and for none.
func BenchmarkFind(b *testing.B) {
	const users = 1_000_000
	p, err := store.Open("file:"+filepath.Join(b.TempDir(), "kith.db"), "")
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	if err := p.Migrate(b.Context(), 1); err != nil {
		b.Fatal(err)
	}
	err = p.Write(b.Context(), 1, func(tx *store.Tx) error {
		for _, statement := range []string{
			`INSERT INTO tenant (alias, key_hash, key_sealed, discount_id, consent, consent_cookie, created_at) VALUES ('t', 't', 's', 'd', 'off', '', 1)`,
			`INSERT INTO account (tenant, id, currency, status, billing_interval, billing_value, value, identified, created_at, updated_at)
				WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ` + strconv.Itoa(users-1) + `)
				SELECT 't', printf('account-%d', i), '', 'PAID', '', 0, '', 0, 1, 1 FROM n`,
			`INSERT INTO user (tenant, account_id, id, first_name, last_name, email, image_url, locale, country_code, referable, custom_fields, segments, created_at, updated_at, terms)
				WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ` + strconv.Itoa(users-1) + `)
				SELECT 't', printf('account-%d', i), printf('user-%d', i), printf('Ann%d', i % 1000), 'Lee', printf('user-%d@example.com', i), '', '', '', 1, '{}', '[]', 1, 1,
					printf('t/account-%d' || char(31) || 't/ann%d' || char(31) || 't/example.com' || char(31) || 't/lee' || char(31) || 't/user-%d' || char(31) || 't/user-%d@example.com', i, i % 1000, i, i) FROM n`,
		} {
			if err := tx.Exec(b.Context(), "fill", statement); err != nil {
				return err
			}
		}
		return userdb.IndexNew(b.Context(), tx, 0)
	})
	if err != nil {
		b.Fatal(err)
	}
	for name, words := range map[string][]string{
		"one": {"user-777777@example.com"}, "thousandth": {"ann777"}, "all": {"lee"}, "prefix of all": {"u"}, "two words": {"u", "ann"}, "one and all": {"account-5", "lee"}, "all, but none": {"user", "lea"},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				page, _, err := userdb.Find(b.Context(), p.Reads, "t", words, userdb.Place{}, 50)
				if err != nil || len(page) == 0 && name != "all, but none" {
					b.Fatal(len(page), err)
				}
			}
		})
	}
	b.Run("none", func(b *testing.B) {
		for b.Loop() {
			page, _, err := userdb.ByAccount(b.Context(), p.Reads, "t", referral.Identity{Account: "account-5", User: "user-5"}, 50)
			if err != nil || len(page) != 50 {
				b.Fatal(len(page), err)
			}
		}
	})
}
