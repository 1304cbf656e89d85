package app_test

import (
	"context"
	"crypto/rand"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/app"
	"kith/backend/app/base"
	"kith/backend/app/tenants"
	"kith/backend/file"
	"kith/backend/store"
	"kith/backend/store/sqldtest"
	"kith/backend/store/storetest"
	"kith/core"
	"kith/core/auth"
	"kith/core/link"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/rules"
	"kith/core/wire"
)

func TestMain(m *testing.M) { sqldtest.Main(m) }

const start core.Time = 1_700_000_000_000

// bundle is an engine with a tenant for one test, in which Anna owns the code ANNA10 and
// Bert owns BERT20.
type bundle struct {
	*app.Engine
	tenant core.TenantAlias
	// key is the secret of the tenant's API key.
	key   string
	clock *atomic.Int64
	// woken counts the calls of Events.Wake and Jobs.Wake.
	woken *atomic.Int64
}

// pass moves the clock forward.
func (b bundle) pass(d core.Time) { b.clock.Add(int64(d)) }

// newBundle returns a bundle on an embedded database file, for rules that do not depend on
// the kind of database.
func newBundle(t testing.TB) bundle {
	t.Helper()
	return bundleOn(t, openFile(t))
}

func openFile(t testing.TB) *store.Primary {
	t.Helper()
	db, err := store.Open(storetest.File(t), "")
	require.NoError(t, err)
	db.SetTimeout(sqldtest.Deadline)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	require.NoError(t, db.Migrate(t.Context(), start))
	return db
}

var server struct {
	sync.Once
	db  *store.Primary
	err error
}

// everywhere runs a test on an embedded file and on a libSQL server. Tests of races need
// both, because the database decides them.
func everywhere(t *testing.T, test func(*testing.T, bundle)) {
	t.Parallel()
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		test(t, newBundle(t))
	})
	t.Run("server", func(t *testing.T) {
		t.Parallel()
		test(t, bundleOn(t, openServer(t)))
	})
}

// onOwnServer runs a test as everywhere does, but on a server that no other test uses. It
// is for tests whose calls affect all tenants of a database.
func onOwnServer(t *testing.T, test func(*testing.T, bundle)) {
	t.Parallel()
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		test(t, newBundle(t))
	})
	t.Run("server", func(t *testing.T) {
		t.Parallel()
		file := strings.TrimPrefix(storetest.File(t), "file:")
		db, err := store.Open(sqldtest.StartWith(t, sqldtest.Options{File: file}).PrimaryURL(), "")
		require.NoError(t, err)
		db.SetTimeout(sqldtest.Deadline)
		t.Cleanup(func() { _ = db.Close() })
		test(t, bundleOn(t, db))
	})
}

func openServer(t testing.TB) *store.Primary {
	t.Helper()
	url := sqldtest.Shared(t).PrimaryURL()
	server.Do(func() {
		if server.db, server.err = store.Open(url, ""); server.err == nil {
			server.db.SetTimeout(sqldtest.Deadline)
			server.err = server.db.Migrate(context.Background(), start)
		}
	})
	require.NoError(t, server.err)
	return server.db
}

func keyring(t testing.TB, digit string) auth.Keyring {
	t.Helper()
	keys, err := auth.ParseKeyring(strings.Repeat(digit, 64))
	require.NoError(t, err)
	return keys
}

var tenantCount atomic.Int64

// engineOn returns a bundle whose tenant does not exist yet.
func engineOn(t testing.TB, db *store.Primary) bundle {
	t.Helper()
	b := bundle{tenant: core.TenantAlias("tenant" + strconv.FormatInt(tenantCount.Add(1), 10)), clock: new(atomic.Int64), woken: new(atomic.Int64)}
	b.clock.Store(int64(start))
	now := func() core.Time { return core.Time(b.clock.Load()) }
	if _, measured := t.(*testing.B); measured {
		// The ids of records begin with the time. Those of one moment have no order, so while a
		// clock stands, each record is at another place of an index.
		began := time.Now()
		now = func() core.Time { return core.Time(b.clock.Load() + time.Since(began).Milliseconds()) }
	}
	b.Engine = app.New(base.Base{
		DB: db, Keys: keyring(t, "a"),
		Now:     now,
		Entropy: func(p []byte) { _, _ = rand.Read(p) },
	})
	b.Events.Wake = func() { b.woken.Add(1) }
	b.Files.Store, b.Jobs.Wake, b.Jobs.CallTime = file.Dir(t.TempDir()), b.Events.Wake, time.Hour
	return b
}

func bundleOn(t testing.TB, db *store.Primary) bundle {
	t.Helper()
	b := engineOn(t, db)
	b.key = b.APIKeys.MakeKey(b.tenant)
	require.NoError(t, b.Tenants.Create(t.Context(), aTenant(b.tenant, b.key)))
	b.owner(t, "anna", "ANNA10")
	b.owner(t, "bert", "BERT20")
	return b
}

func aTenant(alias core.TenantAlias, key string) tenants.NewTenant {
	return tenants.NewTenant{
		Alias: alias, Key: key, Policy: link.Policy{Consent: link.ConsentOff},
		Program: referral.Program{
			Program:  link.Program{Key: core.ClassicProgram, LandingURL: "https://" + string(alias) + ".example/welcome", CookieLife: 30 * core.Day},
			Name:     "Refer a friend",
			Referred: reward.Offer{Kind: reward.PercentDiscount, Percent: 1000},
			Referrer: reward.Offer{Kind: reward.Credit, Amount: 1000, Currency: "USD"},
		},
	}
}

// owner creates a user with a code. The account has the given name, and so has the
// mailbox.
func (b bundle) owner(t testing.TB, name string, code core.ReferralCode) {
	t.Helper()
	email := name + "@example.com"
	b.identify(t, name, func(in *rules.Identification) {
		in.Update.Email = &email
		in.Update.Codes = []referral.UserCode{{Program: core.ClassicProgram, Code: code}}
	})
}

// identification returns an identification of the user "u" of an account.
func identification(account string, change ...func(*rules.Identification)) rules.Identification {
	in := rules.Identification{Update: referral.UserUpdate{Account: core.AccountID(account), ID: "u"}}
	for _, c := range change {
		c(&in)
	}
	return in
}

func (b bundle) identify(t testing.TB, account string, change ...func(*rules.Identification)) rules.Identified {
	t.Helper()
	out, err := b.Identification.Identify(t.Context(), b.tenant, identification(account, change...))
	require.NoError(t, err)
	return out
}

// sync syncs an account. An empty status or code is left out.
func (b bundle) sync(t testing.TB, account string, status referral.Status, code core.ReferralCode) referral.Account {
	t.Helper()
	out, err := b.Accounts.Sync(t.Context(), b.tenant, update(account, status, code))
	require.NoError(t, err)
	return out
}

func update(account string, status referral.Status, code core.ReferralCode) referral.AccountUpdate {
	u := referral.AccountUpdate{ID: core.AccountID(account)}
	if status != "" {
		u.Status = &status
	}
	if code != "" {
		u.Code = &code
	}
	return u
}

func claim(source referral.Source, code core.ReferralCode) func(*rules.Identification) {
	return func(in *rules.Identification) {
		in.Update.Claims = append(in.Update.Claims, referral.Claim{Source: source, Code: code})
	}
}

func paid(in *rules.Identification) {
	status := referral.Paid
	in.Update.Status = &status
}

func email(address string) func(*rules.Identification) {
	return func(in *rules.Identification) { in.Update.Email = &address }
}

// referral returns the referral of an account, or nil.
func (b bundle) referral(t testing.TB, account string) *referral.Referral {
	t.Helper()
	page, total, err := b.Referrals.List(t.Context(), b.tenant, referral.Filter{ReferredAccount: core.AccountID(account), Limit: 10})
	require.NoError(t, err)
	require.LessOrEqual(t, total, 1)
	if total == 0 {
		return nil
	}
	return &page[0]
}

// state returns the state of an account's referral that is stored with the account.
func (b bundle) state(t testing.TB, account string) referral.State {
	t.Helper()
	a, err := b.Accounts.ByID(t.Context(), b.tenant, core.AccountID(account))
	require.NoError(t, err)
	return a.Standing.Referral
}

// rules returns the rules that decided about an account, as "source code: rule", in the
// order of the decisions.
func (b bundle) rules(t testing.TB, account string) (rules []string) {
	t.Helper()
	for _, d := range b.decisions(t, account) {
		rules = append([]string{string(d.Source) + " " + string(d.Code) + ": " + string(d.Rule)}, rules...)
	}
	return rules
}

func (b bundle) decisions(t testing.TB, account string) []wire.Decision {
	t.Helper()
	page, total, err := b.Referrals.Decisions(t.Context(), b.tenant, core.AccountID(account), base.Page{Limit: 1000})
	require.NoError(t, err)
	require.Len(t, page, total)
	return page
}

// rewards returns the numbers of rewards of an account by source.
func (b bundle) rewards(t testing.TB, account string) map[reward.Source]int {
	t.Helper()
	list, _, err := b.Rewards.List(t.Context(), b.tenant, reward.Filter{Account: core.AccountID(account), Limit: 1000})
	require.NoError(t, err)
	count := map[reward.Source]int{}
	for _, r := range list {
		count[r.Source]++
	}
	return count
}

// signed returns the tenant's attribution cookie for a code, as "name=value".
func (b bundle) signed(code core.ReferralCode) string { return b.signedFor(b.tenant, code) }

func (b bundle) signedFor(tenant core.TenantAlias, code core.ReferralCode) string {
	visit := link.Attribution{Program: core.ClassicProgram, Code: code, ShareMedium: "FACEBOOK", Visited: start}
	return link.CookieName(tenant) + "=" + visit.Encode(b.Keys.Cookie(tenant))
}

func (b bundle) cookie(code core.ReferralCode) func(*rules.Identification) {
	return func(in *rules.Identification) { in.Visit.Cookie = b.signed(code) }
}
