package app_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/store"
	"kith/backend/store/userdb"
	"kith/core/referral"
)

// amongUsers runs a benchmark in a tenant with few users, and in one with many
// (KITH_BENCH_USERS). "of-few" is the figure among many divided by that among few.
func amongUsers(b *testing.B, run func(b *testing.B, in bundle, users int) (figure float64)) {
	var few float64
	for _, users := range []int{10_000, benchUsers(b)} {
		b.Run(fmt.Sprintf("users=%d", users), func(b *testing.B) {
			db, err := store.Open(fileOfUsers(b, users), "")
			require.NoError(b, err)
			defer db.Close()
			require.NoError(b, db.Migrate(b.Context(), start))
			in := engineOn(b, db)
			in.tenant = big
			figure := run(b, in, users)
			if few == 0 {
				few = figure
			}
			b.ReportMetric(figure/few, "of-few")
		})
	}
}

// BenchmarkImport_Among imports users.
func BenchmarkImport_Among(b *testing.B) {
	rows := benchRows(b)
	amongUsers(b, func(b *testing.B, in bundle, _ int) float64 {
		return perSecond(b, rows, func() func() {
			text := strings.ReplaceAll(manyUsers(rows), "acct-", fmt.Sprintf("acct-%x-", rand.Uint32()))
			return usersImport(b, in, text, rows)
		})
	})
}

// BenchmarkCodes_Among looks up random codes, as share links do.
func BenchmarkCodes_Among(b *testing.B) {
	amongUsers(b, func(b *testing.B, in bundle, users int) float64 {
		for b.Loop() {
			lookUp(b, in, users)
		}
		return float64(b.Elapsed().Nanoseconds()) / float64(b.N)
	})
}

// lookUp looks up a random code of fileOfUsers.
func lookUp(b *testing.B, in bundle, users int) {
	code := codeOfMany(rand.IntN(users))
	if _, ok, err := userdb.Code(b.Context(), in.DB.Reads, in.tenant, code); err != nil || !ok {
		b.Error(code, ok, err)
	}
}

// lists are pages of users: some narrow, some of a list of all users.
var lists = []struct {
	name   string
	filter func(users int) referral.UserFilter
}{
	{"first", func(int) referral.UserFilter { return referral.UserFilter{} }},
	{"any offset", func(users int) referral.UserFilter { return referral.UserFilter{Offset: rand.IntN(users)} }},
	{"search for one", func(int) referral.UserFilter { return referral.UserFilter{Words: []string{"user-9e3779b1@"}} }},
	{"search for a thousandth", func(int) referral.UserFilter { return referral.UserFilter{Words: []string{"ann77"}} }},
	{"search for all", func(int) referral.UserFilter { return referral.UserFilter{Words: []string{"lee", "user"}} }},
	{"address", func(int) referral.UserFilter { return referral.UserFilter{Email: "user-9e3779b1@example.com"} }},
}

// BenchmarkUserList reads pages of users. A page may take 50 ms.
func BenchmarkUserList(b *testing.B) {
	for _, list := range lists {
		b.Run(strings.ReplaceAll(list.name, " ", "_"), func(b *testing.B) {
			amongUsers(b, func(b *testing.B, in bundle, users int) float64 {
				for b.Loop() {
					f := list.filter(users)
					f.Limit = 20
					page, total, err := in.Users.List(b.Context(), in.tenant, f)
					if err != nil || len(page) == 0 || total == 0 {
						b.Fatal(len(page), total, err)
					}
				}
				return float64(b.Elapsed().Nanoseconds()) / float64(b.N)
			})
		})
	}
}

// BenchmarkUserList_BesideCodes counts look-ups of codes by two callers: without lists,
// and beside eight callers who read lists all the time. "of-alone" is the ratio.
func BenchmarkUserList_BesideCodes(b *testing.B) {
	users := benchUsers(b)
	db, err := store.Open(fileOfUsers(b, users), "")
	require.NoError(b, err)
	defer db.Close()
	require.NoError(b, db.Migrate(b.Context(), start))
	in := engineOn(b, db)
	in.tenant = big
	for range 100 {
		lookUp(b, in, users)
	}
	for b.Loop() {
		alone := codesPerSecond(b, in, users, 0)
		beside := codesPerSecond(b, in, users, 8)
		b.ReportMetric(alone, "codes/s")
		b.ReportMetric(beside/alone, "of-alone")
	}
}

// codesPerSecond looks up codes for two seconds, beside callers who read lists.
func codesPerSecond(b *testing.B, in bundle, users, listers int) float64 {
	end := time.Now().Add(2 * time.Second)
	var all sync.WaitGroup
	for i := range listers {
		all.Go(func() {
			for n := i; time.Now().Before(end); n++ {
				f := lists[n%len(lists)].filter(users)
				f.Limit = 20
				if _, _, err := in.Users.List(b.Context(), in.tenant, f); err != nil {
					b.Error(err)
				}
			}
		})
	}
	var done [2]int
	for i := range done {
		all.Go(func() {
			for ; time.Now().Before(end); done[i]++ {
				lookUp(b, in, users)
			}
		})
	}
	all.Wait()
	return float64(done[0]+done[1]) / 2
}
