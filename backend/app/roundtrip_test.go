package app_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/app/base"
	"kith/backend/app/users"
	"kith/backend/store"
	"kith/backend/store/sqldtest"
	"kith/core"
	"kith/core/event"
	"kith/core/referral"
	"kith/core/reward"
)

// A call needs few round trips to a server: it reads all rows at once, and sends its
// writes with the COMMIT. Each message to the server is a request, which a proxy counts.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	to, err := url.Parse(strings.Replace(sqldtest.Shared(t).PrimaryURL(), "ws", "http", 1))
	require.NoError(t, err)
	var messages atomic.Int64
	proxy := httputil.NewSingleHostReverseProxy(to)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		messages.Add(1)
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	db, err := store.Open(server.URL, "")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	db.SetTimeout(sqldtest.Deadline)
	require.NoError(t, db.Migrate(t.Context(), start))
	b := bundleOn(t, db)
	b.owner(t, "anna", "ANNA10")
	b.subscribe(t, hook)
	at := map[string]int64{}
	count := func(what string, most int64, call func() error) {
		t.Helper()
		b.pass(1)
		before := messages.Load()
		require.NoError(t, call(), what)
		at[what] = messages.Load() - before
		require.LessOrEqual(t, at[what], most, what)
	}
	identify := func(id string, more ...func(*referral.UserUpdate)) func() error {
		return func() error {
			in := identification(id)
			in.Update.Claims = []referral.Claim{{Code: "ANNA10", Source: referral.SourceInit}}
			for _, change := range more {
				change(&in.Update)
			}
			_, err := b.Identification.Identify(t.Context(), b.tenant, in)
			return err
		}
	}
	paid := referral.Paid
	count("identify a new referred user", 6, identify("friend"))
	count("identify the user again", 4, identify("friend"))
	count("identify a new referred user who pays", 6, identify("payer", func(u *referral.UserUpdate) { u.Status = &paid }))
	sync := func(u referral.AccountUpdate) func() error {
		return func() error { _, err := b.Accounts.Sync(t.Context(), b.tenant, u); return err }
	}
	code := referral.Claim{Code: "ANNA10"}.Code
	count("sync an account with a code", 4, sync(referral.AccountUpdate{ID: "shop", Code: &code}))
	count("sync the first PAID of an account", 4, sync(referral.AccountUpdate{ID: "friend", Status: &paid}))
	count("log an event", 4, func() error {
		_, err := b.Events.Log(t.Context(), base.Caller{Tenant: b.tenantRow(t), Key: true}, event.Call{Account: "anna", User: "u", Key: "k", Events: []event.Event{{Key: "e", Fields: "{}"}}})
		return err
	})
	b.reward(t, points("anna", 100))
	count("redeem credit", 4, func() error {
		_, err := b.Redemptions.Draw(t.Context(), b.tenant, reward.Draw{Account: "anna", User: "u", Unit: "POINT", Amount: 10, Key: "once"})
		return err
	})
	var deletions []users.Deletion
	for i := range 64 {
		b.identify(t, "shop"+strconv.Itoa(i))
		deletions = append(deletions, users.Deletion{Account: core.AccountID("shop" + strconv.Itoa(i)), User: "u"})
	}
	count("delete 64 users", 4, func() error {
		return db.Write(t.Context(), b.Now(), func(tx *store.Tx) error { return second(b.Erasures.DeleteWithin(t.Context(), tx, b.tenant, deletions)) })
	})
	t.Log(at)
}
