package userdb_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store"
	"kith/backend/store/userdb"
	"kith/core"
	"kith/core/referral"
)

// addUsers adds users of an account each, as an import does.
func addUsers(t testing.TB, p *store.Primary, tenant core.TenantAlias, accounts []string) {
	t.Helper()
	var rows store.Tuples
	for _, a := range accounts {
		rows.Row()
		rows.Text(a)
	}
	require.NoError(t, p.WriteWithoutForeignKeys(t.Context(), 1, func(tx *store.Tx) error {
		_, err := userdb.IndexAdded(t.Context(), tx, func() (int, error) {
			return tx.Count(t.Context(), "users", `INSERT INTO user (tenant, account_id, id, first_name, last_name, email, image_url, locale, country_code, referable, custom_fields, segments, created_at, updated_at)
				SELECT ?1, value ->> 0, 'u', '', '', '', '', '', '', 1, '{}', '[]', 1, 1 FROM json_each(?2)`, string(tenant), rows.String())
		})
		return err
	}))
}

// The ranges have all users of their tenants, and none is much larger than others, in
// whatever order users are added and deleted. A page at any offset has the users that are
// there.
func TestUserRange_FollowsUsers(t *testing.T) {
	t.Parallel()
	for name, url := range databases(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := fill(t, url, []core.TenantAlias{"t", "other"}, nil)
			addUsers(t, p, "other", []string{"a", "b"})
			random := rand.New(rand.NewPCG(4, 4))
			var all []string
			check := func() {
				t.Helper()
				slices.Sort(all)
				total, err := userdb.CountUsers(t.Context(), p.Reads, "t")
				require.NoError(t, err)
				require.Equal(t, len(all), total)
				for _, offset := range []int{0, 1, 3999, 4000, 4001, random.IntN(len(all) + 1), len(all) - 1, len(all)} {
					page, total, err := userdb.Users(t.Context(), p.Reads, "t", referral.UserFilter{Limit: 3, Offset: max(0, offset)})
					require.NoError(t, err)
					require.Equal(t, len(all), total)
					want := all[min(max(0, offset), len(all)):]
					want = want[:min(3, len(want))]
					require.Len(t, page, len(want), offset)
					for i := range want {
						require.Equal(t, core.AccountID(want[i]), page[i].Account, "offset %d", offset)
					}
				}
				var most, ranges int
				require.NoError(t, p.QueryRowContext(t.Context(), `SELECT coalesce(max(users), 0), count(*) FROM user_range WHERE tenant = 't'`).Scan(&most, &ranges))
				require.LessOrEqual(t, most, 16_000)
				require.LessOrEqual(t, ranges, 2+len(all)/10)
				var strangers int // ids in the ranges that no user has
				require.NoError(t, p.QueryRowContext(t.Context(), `SELECT count(*) FROM user_range r WHERE r.tenant = 't' AND r.account_id <> ''
					AND NOT EXISTS (SELECT 1 FROM user u WHERE u.tenant = r.tenant AND u.account_id = r.account_id AND u.id = r.id)`).Scan(&strangers))
				require.Zero(t, strangers)
			}
			add := func(n int, id func(i int) string) {
				var given []string
				for i := range n {
					given = append(given, id(i))
				}
				addUsers(t, p, "t", given)
				all = append(all, given...)
				check()
			}
			remove := func(condition string) {
				t.Helper()
				require.NoError(t, p.WriteWithoutForeignKeys(t.Context(), 1, func(tx *store.Tx) error {
					return tx.Exec(t.Context(), "delete", `DELETE FROM user WHERE tenant = 't' AND `+condition)
				}))
				left, err := store.List[string](t.Context(), p.Reads, "accounts", `SELECT account_id FROM user WHERE tenant = 't'`)
				require.NoError(t, err)
				require.Less(t, len(left), len(all))
				all = left
				check()
			}
			check()
			add(9000, func(i int) string { return fmt.Sprintf("m%06d", i) })
			add(9000, func(i int) string { return fmt.Sprintf("m%06d", 9000+i) })
			for round := range 3 {
				add(4000, func(i int) string { return fmt.Sprintf("r%06d-%d-%d", random.IntN(1_000_000), round, i) })
			}
			add(2, func(i int) string { return fmt.Sprint(i) })
			remove(`seq % 7 = 1`)
			remove(`(account_id, id) IN (SELECT account_id, id FROM user_range)`)
			remove(`account_id BETWEEN 'm004' AND 'm012'`)
			add(9000, func(i int) string { return fmt.Sprintf("m%06d-", i) })
			remove(`true`)
			add(3, func(i int) string { return fmt.Sprint("z", i) })
			count, err := userdb.CountUsers(t.Context(), p.Reads, "other")
			require.NoError(t, err)
			require.Equal(t, 2, count)
		})
	}
}

// In a tenant with many users, a search for a word that all of them have finds the first of
// them, on pages that follow each other.
func TestUsers_SearchIsBounded(t *testing.T) {
	t.Parallel()
	const users = referral.MaxSearched + 1
	p := fill(t, databases(t)["file"], []core.TenantAlias{"t"}, nil)
	require.NoError(t, p.WriteWithoutForeignKeys(t.Context(), 1, func(tx *store.Tx) error {
		_, err := userdb.IndexAdded(t.Context(), tx, func() (int, error) {
			return tx.Count(t.Context(), "users", `INSERT INTO user (tenant, account_id, id, first_name, last_name, email, image_url, locale, country_code, referable, custom_fields, segments, created_at, updated_at, terms)
				WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
				SELECT 't', printf('a%06d', i), 'u', 'Ann', '', '', '', '', '', 1, '{}', '[]', 1, 1, printf('t/a%06d', i) || char(31) || 't/ann' || char(31) || 't/u' FROM n`, users)
		})
		return err
	}))
	for offset, want := range map[int]int{0: 10, referral.MaxFound - 5: 5, referral.MaxFound: 0, users: 0} {
		page, total, err := userdb.Users(t.Context(), p.Reads, "t", referral.UserFilter{Words: []string{"ann"}, Offset: offset, Limit: 10})
		require.NoError(t, err)
		require.Equal(t, referral.MaxFound, total)
		require.Len(t, page, want)
	}
	page, total, err := userdb.Users(t.Context(), p.Reads, "t", referral.UserFilter{Words: []string{"ann", "a020001"}, Limit: 10})
	require.NoError(t, err)
	require.Equal(t, 1, total)
	require.Equal(t, core.AccountID("a020001"), page[0].Account)
	_, all, err := userdb.FindPeople(t.Context(), p.Reads, "t", []string{"ann"}, 51)
	require.NoError(t, err)
	require.False(t, all)
}
