package app_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"kith/backend/store"
	"kith/backend/store/userdb"
	"kith/core"
	"kith/core/rules"
)

// big is the tenant of the users of fileOfUsers.
const big core.TenantAlias = "big"

// benchUsers returns how many users a large tenant has in benchmarks: KITH_BENCH_USERS, or
// 200,000.
func benchUsers(b *testing.B) int {
	b.Helper()
	text := os.Getenv("KITH_BENCH_USERS")
	if text == "" {
		return 200_000
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		b.Fatal("KITH_BENCH_USERS: ", err)
	}
	return n
}

// fileOfUsers returns the URL of a file in which the tenant big has n users with a code each.
// Their ids and codes are in no order. The file is temporary, unless KITH_BENCH_FOLDER names
// a folder that keeps it for other runs; Import_Among adds its users to it.
func fileOfUsers(b *testing.B, n int) string {
	b.Helper()
	folder := os.Getenv("KITH_BENCH_FOLDER")
	if folder == "" {
		folder = b.TempDir()
	}
	path := filepath.Join(folder, "users-"+strconv.Itoa(n)+".db")
	if _, err := os.Stat(path); err == nil {
		return "file:" + path
	}
	p, err := store.Open("file:"+path+".part", "")
	if err != nil {
		b.Fatal(err)
	}
	if err := p.Migrate(b.Context(), 1); err != nil {
		b.Fatal(err)
	}
	const step = 100_000
	for first := 0; first < n; first += step {
		err = p.WriteWithoutForeignKeys(b.Context(), 1, func(tx *store.Tx) error {
			if first == 0 {
				if err := tx.Exec(b.Context(), "add the tenant", tenantOfMany, string(big)); err != nil {
					return err
				}
				if err := tx.Exec(b.Context(), "add the program", programOfMany, string(big), string(core.ClassicProgram)); err != nil {
					return err
				}
			}
			_, err := userdb.IndexAdded(b.Context(), tx, func() (int, error) {
				for _, statement := range usersOfMany {
					if err := tx.Exec(b.Context(), "add users", numbers+statement, first, min(first+step, n)-1, string(big), string(core.ClassicProgram)); err != nil {
						return 0, err
					}
				}
				return 1, nil
			})
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	if err := p.Close(); err != nil {
		b.Fatal(err)
	}
	if err := os.Rename(path+".part", path); err != nil {
		b.Fatal(err)
	}
	return "file:" + path
}

const (
	tenantOfMany = `INSERT INTO tenant (alias, key_hash, key_sealed, discount_id, consent, consent_cookie, created_at)
		VALUES (?1, ?1, '', 'd', 'off', '', 1)`
	programOfMany = `INSERT INTO program (tenant, key, name, landing_url, allowed_hosts, cookie_life, most_rewards, most_in_period, reward_period, most_discount,
			fraud_handling, fraud_signals, daily_rewards, created_at, updated_at)
		VALUES (?1, ?2, 'Classic', 'https://shop.example/', '[]', 86400000, 0, 0, 0, 0, 'NONE', '{}', 0, 1, 1)`
	// numbers are the numbers i of the users to add, each with a hash h in another order, and
	// the number x of the code. The parameters are the first, the last, the tenant, and the
	// program.
	numbers = `WITH RECURSIVE i(i) AS (SELECT ?1 UNION ALL SELECT i + 1 FROM i WHERE i < ?2),
		n AS (SELECT i, printf('%08x', (i * 2654435761) & 4294967295) AS h, (i * 679535558087) & 1099511627775 AS x FROM i) `
)

// codeOfMany returns the code of user i of fileOfUsers, up to 13 million. The codes are spread
// as evenly as those that Kith makes, so that an import stores its new codes among them.
func codeOfMany(i int) core.ReferralCode {
	x := uint64(i) * 679535558087
	var code [8]byte
	for n := range code {
		code[n] = rules.CodeAlphabet[x>>(35-5*n)&31]
	}
	return core.ReferralCode(code[:])
}

// codeText is the SQL of codeOfMany.
func codeText() string {
	var letters []string
	for bits := 35; bits >= 0; bits -= 5 {
		letters = append(letters, fmt.Sprintf("substr('%s', ((x >> %d) & 31) + 1, 1)", rules.CodeAlphabet, bits))
	}
	return strings.Join(letters, " || ")
}

// usersOfMany are the statements that add users. All are named Lee, and a thousandth of
// them Ann77.
var usersOfMany = []string{
	`INSERT INTO account (tenant, id, currency, status, billing_interval, billing_value, value, identified, created_at, updated_at)
		SELECT ?3, 'acct-' || h, '', 'PAID', '', 0, '', 1, 1, 1 FROM n WHERE ?4 <> ''`,
	`INSERT INTO user (tenant, account_id, id, first_name, last_name, email, image_url, locale, country_code, referable, custom_fields, segments, created_at, updated_at, terms)
		SELECT ?3, 'acct-' || h, 'user-' || h, 'Ann' || (i % 1000), 'Lee', 'user-' || h || '@example.com', '', 'en', 'US', 1, '{}', '[]', 1, 1,
			?3 || '/acct-' || h || char(31) || ?3 || '/ann' || (i % 1000) || char(31) || ?3 || '/example.com' || char(31) || ?3 || '/lee' || char(31) ||
			?3 || '/user-' || h || char(31) || ?3 || '/user-' || h || '@example.com' FROM n WHERE ?4 <> ''`,
	`INSERT INTO code (tenant, code, program, account_id, user_id, created_at, linked_at)
		SELECT ?3, ` + codeText() + `, ?4, 'acct-' || h, 'user-' || h, 1, 1 FROM n`,
}
