package store_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store"
	"kith/backend/store/eventdb"
	"kith/backend/store/sqldtest"
	"kith/core"
	"kith/core/event"
)

// appendAll appends calls at the same time, and returns the results in their order.
func appendAll(t *testing.T, db *store.Primary, tenant core.TenantAlias, calls []event.Call) (added []bool, errs []error) {
	t.Helper()
	var appends eventdb.Appends
	added, errs = make([]bool, len(calls)), make([]error, len(calls))
	var all sync.WaitGroup
	for i, c := range calls {
		all.Go(func() { added[i], errs[i] = appends.Append(t.Context(), db, tenant, c) })
	}
	all.Wait()
	return added, errs
}

// Of calls with one key in one transaction, or in several, one is stored; calls with other
// keys or without one all are.
func TestAppends_OneCallOfEachKey(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		const each = 40
		var calls []event.Call
		for i := range each {
			calls = append(calls, batchOf("one", now, 2), batchOf("two", now, 1), batchOf("", now, 1), batchOf(core.IdempotencyKey(fmt.Sprint("own", i)), now, 1))
		}
		added, errs := appendAll(t, b.db, b.tenant, calls)
		stored := map[core.IdempotencyKey]int{}
		for i, c := range calls {
			require.NoError(t, errs[i])
			if added[i] {
				stored[c.Key]++
			}
		}
		require.Equal(t, 1, stored["one"])
		require.Equal(t, 1, stored["two"])
		require.Equal(t, each, stored[""])
		require.Len(t, stored, 3+each)
		require.Equal(t, 2+2*each, b.count(t, "intake"))
	})
}

// A call that the database refuses fails alone, whatever calls share its transaction.
func TestAppends_WrongCallFailsAlone(t *testing.T) {
	t.Parallel()
	b := onFile(t)
	_, err := b.raw(t).ExecContext(t.Context(), `CREATE TRIGGER refuse BEFORE INSERT ON intake WHEN new.user_id = 'wrong' BEGIN SELECT raise(ABORT, 'refused'); END`)
	require.NoError(t, err)
	calls := make([]event.Call, 60)
	for i := range calls {
		if calls[i] = batchOf("", now, 1); i%10 == 5 {
			calls[i].User = "wrong"
		}
	}
	added, errs := appendAll(t, b.db, b.tenant, calls)
	for i, c := range calls {
		if c.User == "wrong" {
			require.ErrorContains(t, errs[i], "refused")
			continue
		}
		require.NoError(t, errs[i])
		require.True(t, added[i])
	}
	require.Equal(t, 54, b.count(t, "intake"))
}

// While a server's responses are lost, a call without a key is stored once if its caller was
// answered, and at most once otherwise.
func TestAppends_AreNeverSentTwice(t *testing.T) {
	t.Parallel()
	c := sqldtest.Start(t)
	proxy := newFlakyProxy(t, c.PrimaryURL())
	direct := open(t, c.PrimaryURL())
	require.NoError(t, direct.Migrate(t.Context(), now))
	lossy, err := store.Open(proxy.url(), "") // it retries a few times, not until a deadline
	require.NoError(t, err)
	t.Cleanup(func() { _ = lossy.Close() })
	tenant := newTenant(t, direct)
	answered, sent := map[string]bool{}, map[string]bool{}
	for round := range 24 {
		if proxy.dropResponsesWith(""); round%3 == 1 {
			proxy.dropOneOf(int64(2+round%5), "step_results")
		}
		calls := make([]event.Call, 12)
		for i := range calls {
			calls[i] = batchOf("", now, 1)
		}
		_, errs := appendAll(t, lossy, tenant, calls)
		for i, c := range calls {
			sent[c.Events[0].ID] = true
			if errs[i] == nil {
				answered[c.Events[0].ID] = true
			}
		}
	}
	t.Log(len(answered), "of", len(sent), "calls were answered")
	rows, err := bundle{db: direct, url: c.PrimaryURL()}.raw(t).QueryContext(t.Context(), `SELECT events ->> '$[0].id' FROM intake`)
	require.NoError(t, err)
	defer rows.Close()
	stored := map[string]bool{}
	for rows.Next() {
		var id string
		require.NoError(t, rows.Scan(&id))
		require.False(t, stored[id], "stored twice")
		require.True(t, sent[id])
		stored[id] = true
	}
	require.NoError(t, rows.Err())
	for id := range answered {
		require.True(t, stored[id], "a stored call is missing")
	}
}
