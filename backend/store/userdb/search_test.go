package userdb_test

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store"
	"kith/backend/store/rowtest"
	"kith/backend/store/sqldtest"
	"kith/backend/store/sqltest"
	"kith/backend/store/storetest"
	"kith/backend/store/userdb"
	"kith/core"
	"kith/core/referral"
)

// databases returns the URL of a new database on a server, and that of one in a file.
func databases(t *testing.T) map[string]string {
	t.Helper()
	return map[string]string{"server": sqldtest.Start(t).PrimaryURL(), "file": "file:" + filepath.Join(t.TempDir(), "kith.db")}
}

// fill opens a new database, and stores the users in each of the tenants.
func fill(t *testing.T, url string, tenants []core.TenantAlias, users []referral.User) *store.Primary {
	t.Helper()
	p, err := store.Open(url, "")
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.Close() })
	require.NoError(t, p.Migrate(t.Context(), 1))
	require.NoError(t, p.Write(t.Context(), 1, func(tx *store.Tx) error {
		for _, tenant := range tenants {
			require.NoError(t, tx.Exec(t.Context(), "tenant", `INSERT INTO tenant (alias, key_hash, key_sealed, discount_id, consent, consent_cookie, created_at)
				VALUES (?1, ?1, 's', 'd', 'off', '', 1)`, string(tenant)))
			for _, u := range users {
				require.NoError(t, rowtest.PutAccount(t.Context(), tx, tenant, referral.NewAccount(u.Account, 1)))
				require.NoError(t, rowtest.PutUser(t.Context(), tx, tenant, u))
				require.NoError(t, rowtest.PutTerms(t.Context(), tx, tenant, u))
			}
		}
		return nil
	}))
	return p
}

// A word finds all users who have a term that begins with it, whatever characters it
// has, and no user of another tenant.
func TestUsers_FoundByAnyWord(t *testing.T) {
	t.Parallel()
	for name, url := range databases(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ids := []core.AccountID{
				"Plain", `qu"ote'd`, `"`, "a b", "a*", "a-b", "a+b:c^d", "AND", "OR", "NOT", "near(a, b)", "{x}", "(", "ärla", "ÄRLA", "İz", "Ξένος", "日本語", "é/ü", "t/plain", "%_", `back\slash`, "~`#;,", " lead",
			}
			var users []referral.User
			for _, id := range ids {
				users = append(users, referral.NewUser(id, "user", 1))
			}
			p := fill(t, url, []core.TenantAlias{"t", "other"}, users)
			search := func(text string) (got []core.AccountID) {
				page, total, err := userdb.Users(t.Context(), p.Reads, "t", referral.UserFilter{Words: []string{text}, Limit: 100})
				require.NoError(t, err, text)
				require.Len(t, page, total, text)
				for _, u := range page {
					got = append(got, u.Account)
				}
				return got
			}
			for _, id := range ids {
				term := referral.NewUser(id, "user", 1).Terms()[0]
				if term == "user" {
					term = referral.NewUser(id, "user", 1).Terms()[1]
				}
				require.Contains(t, search(term), id)
				for i := range term {
					if i > 0 {
						require.Contains(t, search(term[:i]), id, term[:i])
					}
				}
				require.NotContains(t, search(term+"x"), id)
			}
			require.Equal(t, []core.AccountID{"t/plain"}, search("t/"))
			require.Equal(t, []core.AccountID{"ÄRLA", "ärla"}, search("ärl"))
			require.Equal(t, []core.AccountID{"ÄRLA", "ärla"}, search("arla"))
			require.Equal(t, []core.AccountID{"ÄRLA", "ärla"}, search("a\u0308r"), "an accent of its own, as from a Mac")
			require.Empty(t, search("âr"), "another accent")
			for _, word := range []string{"Ξένος", "ΞΕΝΟΣ", "ξενο"} {
				require.Equal(t, []core.AccountID{"Ξένος"}, search(strings.ToLower(word)), word)
			}
			require.Equal(t, []core.AccountID{"İz"}, search("i\u0307z"), "what strings.ToLower makes of İ with a point of its own")
			require.Equal(t, []core.AccountID{"é/ü"}, search("e/u"))
			require.Len(t, search("us"), len(ids))
			require.Empty(t, search("ser"))
			_, total, err := userdb.Users(t.Context(), p.Reads, "t", referral.UserFilter{Words: []string{"use", "日"}, Limit: 1})
			require.NoError(t, err)
			require.Equal(t, 1, total)

			// A changed user is found by the new words only, and a deleted user by none.
			require.NoError(t, p.Write(t.Context(), 2, func(tx *store.Tx) error {
				for i := range 3 {
					u := referral.NewUser("Plain", "user", 1)
					u.FirstName = "name" + strconv.Itoa(i)
					require.NoError(t, rowtest.PutTerms(t.Context(), tx, "t", u))
				}
				return userdb.EraseUsers(t.Context(), tx, "t", []userdb.Erasure{{"AND", "user", "deleted-1", "deleted-1"}})
			}))
			require.Empty(t, search("name0"))
			require.Equal(t, []core.AccountID{"Plain"}, search("name"))
			require.Empty(t, search("and"))
			storetest.RequireIndexed(t, p.Reads)
		})
	}
}

// Each condition narrows the list, alone and with others. A field sorts it in both
// directions; users that are equal are sorted by id.
func TestUsers_NarrowedAndSorted(t *testing.T) {
	t.Parallel()
	url := "file:" + filepath.Join(t.TempDir(), "kith.db")
	var users []referral.User
	for i, name := range []string{"bea", "Abe", "cid"} {
		u := referral.NewUser(core.AccountID("a"+strconv.Itoa(i%2)), core.UserID("u"+strconv.Itoa(i)), core.Time(10-i))
		u.FirstName, u.Email = name, name+"@Example.com"
		users = append(users, u)
	}
	fill(t, url, []core.TenantAlias{"t", "other"}, users)
	reads := store.NewReads(sqltest.Explained{DB: sqltest.Open(t, url), T: t})
	for _, c := range []struct {
		filter referral.UserFilter
		want   []core.UserID
	}{
		{referral.UserFilter{}, []core.UserID{"u0", "u2", "u1"}},
		{referral.UserFilter{Order: []referral.UserOrder{{Field: "accountId"}, {Field: "id"}}}, []core.UserID{"u0", "u2", "u1"}},
		{referral.UserFilter{ID: "u1"}, []core.UserID{"u1"}},
		{referral.UserFilter{ID: "u1", Words: []string{"abe", "example.com"}}, []core.UserID{"u1"}},
		{referral.UserFilter{Words: []string{"abe", "u0"}}, nil},
		{referral.UserFilter{ID: "u"}, nil},
		{referral.UserFilter{ID: "U1"}, nil},
		{referral.UserFilter{Account: "a0"}, []core.UserID{"u0", "u2"}},
		{referral.UserFilter{Account: "a0", ID: "u2"}, []core.UserID{"u2"}},
		{referral.UserFilter{Account: "a0", Email: "abe@example.com"}, nil},
		{referral.UserFilter{Email: "ABE@example.COM"}, []core.UserID{"u1"}},
		{referral.UserFilter{Email: "abe@example"}, nil},
		{referral.UserFilter{Email: "abe@example.com", ID: "u0"}, nil},
		{referral.UserFilter{Words: []string{"example"}, Account: "a0"}, []core.UserID{"u0", "u2"}},
		{referral.UserFilter{Words: []string{"example"}, Order: []referral.UserOrder{{Field: "firstName"}}}, []core.UserID{"u1", "u0", "u2"}},
		{referral.UserFilter{Words: []string{"example"}, Order: []referral.UserOrder{{Field: "email", Descending: true}}}, []core.UserID{"u2", "u0", "u1"}},
		{referral.UserFilter{Words: []string{"example"}, Order: []referral.UserOrder{{Field: "dateCreated"}}}, []core.UserID{"u2", "u1", "u0"}},
		{referral.UserFilter{Words: []string{"example"}, Order: []referral.UserOrder{{Field: "accountId", Descending: true}}}, []core.UserID{"u1", "u0", "u2"}},
		{referral.UserFilter{Words: []string{"example"}, Order: []referral.UserOrder{{Field: "lastName"}, {Field: "id", Descending: true}}}, []core.UserID{"u2", "u1", "u0"}},
	} {
		c.filter.Limit = 10
		page, total, err := userdb.Users(t.Context(), reads, "t", c.filter)
		require.NoError(t, err)
		var got []core.UserID
		for _, u := range page {
			got = append(got, u.ID)
		}
		require.Equal(t, c.want, got, "%+v", c.filter)
		require.Equal(t, len(got), total)
		// Each page has its part of the same list, and the same total.
		for offset := range len(c.want) + 2 {
			c.filter.Limit, c.filter.Offset = 1, offset
			page, total, err := userdb.Users(t.Context(), reads, "t", c.filter)
			require.NoError(t, err)
			require.Equal(t, len(c.want), total, "%+v", c.filter)
			if offset >= len(c.want) {
				require.Empty(t, page)
			} else {
				require.Equal(t, c.want[offset], page[0].ID)
			}
		}
	}
}
