package store_test

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store"
	"kith/backend/store/programdb"
	"kith/backend/store/rowtest"
	"kith/backend/store/sqldtest"
	"kith/backend/store/storetest"
	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/link"
	"kith/core/referral"
	"kith/core/reward"
)

func TestMain(m *testing.M) { sqldtest.Main(m) }

// now is the time of tests for which the time does not matter.
const now core.Time = 1_700_000_000_000

// bundle is what a test of the store works with.
type bundle struct {
	db *store.Primary
	// url opens the database without the store.
	url string
	// tenant is used by this test only; it has the program "classic".
	tenant core.TenantAlias
}

// everywhere runs a test on a libSQL server, which the tests of the package share,
// and on an embedded file of its own. Kith runs on both, and a test on one proves
// nothing about the other.
func everywhere(t *testing.T, test func(*testing.T, bundle)) {
	t.Parallel()
	t.Run("server", func(t *testing.T) {
		t.Parallel()
		test(t, onServer(t))
	})
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		test(t, onFile(t))
	})
}

var server struct {
	sync.Once
	db  *store.Primary
	err error
}

func onServer(t testing.TB) bundle {
	t.Helper()
	url := sqldtest.Shared(t).PrimaryURL()
	server.Do(func() {
		if server.db, server.err = store.Open(url, ""); server.err == nil {
			server.db.SetTimeout(sqldtest.Deadline)
			server.err = server.db.Migrate(context.Background(), now)
		}
	})
	require.NoError(t, server.err)
	return bundle{server.db, url, newTenant(t, server.db)}
}

func onFile(t testing.TB) bundle {
	t.Helper()
	return onFileAt(t, storetest.File(t))
}

func onFileAt(t testing.TB, url string) bundle {
	t.Helper()
	db := open(t, url)
	require.NoError(t, db.Migrate(t.Context(), now))
	return bundle{db, url + "?_pragma=foreign_keys(1)&_pragma=busy_timeout(10000)", newTenant(t, db)}
}

func open(t testing.TB, url string) *store.Primary {
	t.Helper()
	db, err := store.Open(url, "")
	require.NoError(t, err)
	db.SetTimeout(sqldtest.Deadline)
	// Close fails on a server that was killed: the driver waits for a closing
	// handshake.
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// raw opens the bundle's database without the store.
func (b bundle) raw(t testing.TB) *sql.DB {
	t.Helper()
	db, err := sql.Open("libsql", b.url)
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

// write runs do in a transaction that must commit.
func (b bundle) write(t testing.TB, do func(context.Context, *store.Tx) error) {
	t.Helper()
	require.NoError(t, b.db.Write(t.Context(), now, func(tx *store.Tx) error { return do(t.Context(), tx) }))
}

var tenants atomic.Int64

func newTenant(t testing.TB, db *store.Primary) core.TenantAlias {
	t.Helper()
	alias := core.TenantAlias("tenant-" + strconv.FormatInt(tenants.Add(1), 10))
	require.NoError(t, db.Write(t.Context(), now, func(tx *store.Tx) error {
		if _, err := tenantdb.Insert(t.Context(), tx, aTenant(alias)); err != nil {
			return err
		}
		_, err := programdb.Insert(t.Context(), tx, alias, aProgram(core.ClassicProgram))
		return err
	}))
	return alias
}

func aTenant(alias core.TenantAlias) tenantdb.Tenant {
	return tenantdb.Tenant{
		Alias: alias, DiscountID: "svc_discount",
		Policy: link.Policy{Consent: link.ConsentOff}, Created: now,
	}
}

func aProgram(key core.ProgramKey) referral.Program {
	return referral.Program{
		Program:  link.Program{Key: key, LandingURL: "https://shop.example/", CookieLife: core.Day},
		Name:     "Refer a friend",
		Referred: reward.Offer{Kind: reward.PercentDiscount, Percent: 1000},
		Referrer: reward.Offer{Kind: reward.Credit, Amount: 1000, Currency: "USD"},
		Fraud:    referral.FraudPolicy{Handling: referral.HandleNone},
	}
}

// putUser stores a user and their account.
func putUser(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, account core.AccountID, user core.UserID) error {
	if err := rowtest.PutAccount(ctx, tx, tenant, referral.NewAccount(account, now)); err != nil {
		return err
	}
	return rowtest.PutUser(ctx, tx, tenant, referral.NewUser(account, user, now))
}

// awkward are texts that break code which concatenates or splits strings.
var awkward = []string{
	"plain", `it's "quoted"; -- DROP TABLE user`, "a%40b.c/ü?&=#", "\u202eright to left", "🧑‍🚀 emoji", "?1 $2 :three @four",
	strings.Repeat("long", 50), "{\"json\":[1,null]}", "null", "0", "1e3", " blank ",
}

var errTest = errors.New("error of the test")
