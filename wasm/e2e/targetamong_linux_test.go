package e2e

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkTarget_Among follows share links and looks up codes, both of random users, among
// 10,000 users and among KITH_BENCH_USERS (200,000; the target is for 10,000,000), in kith
// dev on a file.
func BenchmarkTarget_Among(b *testing.B) {
	users, err := strconv.Atoi(cmp.Or(os.Getenv("KITH_BENCH_USERS"), "200000"))
	require.NoError(b, err, "KITH_BENCH_USERS")
	var links, codes []side
	for _, n := range []int{10_000, users} {
		s := newSite(b)
		seeded := s.dev(b)
		seeded.stop(b)
		s.addCodes(b, n)
		s.dev(b)
		name := fmt.Sprintf("users=%d", n)
		load := func(status int, path string, headers ...string) side {
			g := loadgen{bases: []string{s.edge}, connections: linkClients, status: status, request: func(int) []byte {
				return rawRequest("GET", path+hashOf(rand.IntN(n)), "", headers...)
			}}
			g.saturate(b, saturatedFor) // makes instances, fills caches
			return side{name, func(b *testing.B) { g.saturate(b, saturatedFor).report(b) }}
		}
		links = append(links, load(http.StatusFound, "/s/demo/C", visitor...))
		codes = append(codes, load(http.StatusOK, "/api/v1/demo/code/C", s.auth("demo")))
	}
	alternate(b, "links", links...)
	alternate(b, "look-ups", codes...)
}

// hashOf returns 8 digits in another order than that of i.
func hashOf(i int) string { return fmt.Sprintf("%08X", uint32(i)*2654435761) }

// addCodes adds users of the demo tenant with an account and a code each, which end in
// hashOf their number. No program may use the file meanwhile.
func (s *site) addCodes(b *testing.B, users int) {
	const step = 100_000
	db := s.open(b)
	for first := 0; first < users; first += step {
		tx, err := db.Begin()
		require.NoError(b, err)
		for _, statement := range []string{
			`INSERT INTO account (tenant, id, currency, status, billing_interval, billing_value, value, identified, created_at, updated_at)
				SELECT 'demo', 'acct-' || h, '', 'PAID', '', 0, '', 1, 1, 1 FROM n`,
			`INSERT INTO user (tenant, account_id, id, first_name, last_name, email, image_url, locale, country_code, referable, custom_fields, segments, created_at, updated_at)
				SELECT 'demo', 'acct-' || h, 'user-' || h, 'Ann', 'Lee', 'user-' || h || '@example.com', '', 'en', 'US', 1, '{}', '[]', 1, 1 FROM n`,
			`INSERT INTO code (tenant, code, program, account_id, user_id, created_at) SELECT 'demo', 'C' || h, 'classic', 'acct-' || h, 'user-' || h, 1 FROM n`,
		} {
			_, err := tx.Exec(`WITH RECURSIVE i(i) AS (SELECT ?1 UNION ALL SELECT i + 1 FROM i WHERE i < ?2),
				n AS (SELECT printf('%08X', (i * 2654435761) & 4294967295) AS h FROM i) `+statement, first, min(first+step, users)-1)
			require.NoError(b, err)
		}
		require.NoError(b, tx.Commit())
	}
	require.NoError(b, db.Close())
}
