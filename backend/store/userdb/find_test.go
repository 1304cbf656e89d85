package userdb_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store"
	"kith/backend/store/sqltest"
	"kith/backend/store/userdb"
	"kith/core"
	"kith/core/referral"
)

// Pages of a search join to a list that has each user with all words once, whatever the size
// of a page. They are read by index.
func TestFind(t *testing.T) {
	t.Parallel()
	var users []referral.User
	for i := range 30 {
		account := core.AccountID(fmt.Sprintf("a%02d", i))
		u := referral.NewUser(account, core.UserID(account)+"/Ü", 1)
		u.FirstName, u.LastName, u.Email = []string{"Anna", "Ann", "Ben"}[i%3], "von Ähre", fmt.Sprintf("%s@example.com", account)
		users = append(users, u)
	}
	for name, url := range databases(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := fill(t, url, []core.TenantAlias{"t", "tt", "other"}, users)
			r := p.Reads
			if name == "file" {
				r = store.NewReads(sqltest.Explained{DB: sqltest.Open(t, url), T: t})
			}
			search := func(limit int, words ...string) (all []core.AccountID) {
				var at userdb.Place
				for {
					page, next, err := userdb.Find(t.Context(), r, "t", words, at, limit)
					require.NoError(t, err)
					require.LessOrEqual(t, len(page), limit)
					for _, u := range page {
						all = append(all, u.Account)
					}
					if at = next; at == (userdb.Place{}) {
						return all
					}
				}
			}
			for _, limit := range []int{1, 2, 7, 100} {
				require.Len(t, search(limit, "a"), 30, "each user has several terms with a")
				require.Len(t, search(limit, "ann"), 20)
				require.Len(t, search(limit, "anna"), 10)
				require.Equal(t, []core.AccountID{"a00", "a03", "a06", "a09"}, search(limit, "a0", "anna"))
				require.Equal(t, []core.AccountID{"a07"}, search(limit, "a07/ü"))
				require.Equal(t, []core.AccountID{"a07"}, search(limit, "a07@example.com", "ähre"))
				require.Len(t, search(limit, "ähre"), 30)
				require.Len(t, search(limit, "example.com"), 30)
				require.Empty(t, search(limit, "xample"))
				require.Empty(t, search(limit, "ann", "zoe"))
				require.Empty(t, search(limit, "hre"))
			}
			listed := func(limit int) (all []core.AccountID) {
				var after referral.Identity
				for {
					page, more, err := userdb.ByAccount(t.Context(), r, "t", after, limit)
					require.NoError(t, err)
					for _, u := range page {
						all = append(all, u.Account)
					}
					if !more {
						return all
					}
					last := page[len(page)-1]
					after = referral.Identity{Account: last.Account, User: last.ID}
				}
			}
			require.Len(t, listed(100), 30)
			require.Equal(t, listed(100), listed(7))
			require.Equal(t, listed(100), listed(30))
			// A user who is erased is found no more.
			require.NoError(t, p.Write(t.Context(), 2, func(tx *store.Tx) error {
				return userdb.EraseUsers(t.Context(), tx, "t", []userdb.Erasure{{Account: "a07", User: "a07/Ü", Pseudonym: "deleted-1", PseudonymCode: "deleted-1"}})
			}))
			require.Empty(t, search(5, "a07"))
			require.Len(t, search(5, "ähre"), 29)
		})
	}
}
