package store_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store"
	"kith/backend/store/eventdb"
	"kith/backend/store/sqldtest"
	"kith/core"
	"kith/core/event"
	"kith/core/wire"
)

func TestAppendIntake_OneOfManySendersOfAKey(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		const senders = 64
		type answer struct {
			added bool
			err   error
		}
		answers := make(chan answer, senders)
		for range senders {
			go func() {
				added, err := eventdb.AppendIntake(t.Context(), b.db, b.tenant, batchOf("the-one-key", now, 2))
				answers <- answer{added, err}
			}()
		}
		added := 0
		for range senders {
			a := <-answers
			require.NoError(t, a.err)
			if a.added {
				added++
			}
		}
		require.Equal(t, 1, added)
		require.Equal(t, 1, b.count(t, "intake"))
	})
}

// A key is remembered for 24 hours (spec 8.4), to the millisecond.
func TestAppendIntake_KeyLivesADay(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		first := now
		for _, sent := range []struct {
			at    core.Time
			added bool
		}{
			{first, true},
			{first, false},
			{first + event.KeyLife - 1, false},
			{first + event.KeyLife, false},
			{first + event.KeyLife + 1, true},
			// The 24 hours start at the call that was accepted, not at those that
			// were rejected.
			{first + 2*event.KeyLife + 1, false},
			{first + 2*event.KeyLife + 2, true},
		} {
			added, err := eventdb.AppendIntake(t.Context(), b.db, b.tenant, batchOf("key-of-a-day", sent.at, 1))
			require.NoError(t, err)
			require.Equal(t, sent.added, added, "%d ms later", sent.at-first)
		}
		require.Equal(t, 3, b.count(t, "intake"))
	})
}

// A call is the one that was recorded if its user, and the keys and fields of its events are
// the same, however they are written.
func TestRecorded_ComparesCalls(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		call := func(user core.UserID, key string, fields ...string) event.Call {
			c := event.Call{Account: "a", User: user, Key: "order-1001"}
			for _, f := range fields {
				c.Events = append(c.Events, event.Event{Key: key, Fields: f})
			}
			c.Stamp(now, entropy())
			return c
		}
		recorded := func(c event.Call) string {
			t.Helper()
			key, err := eventdb.Recorded(t.Context(), b.db.Reads, b.tenant, c)
			require.NoError(t, err)
			return key
		}
		const first, second = `{"a":1,"b":"é","c":{"d":[1]}}`, `{}`
		require.Empty(t, recorded(call("u", "k", first)), "nothing is recorded")
		added, err := eventdb.AppendIntake(t.Context(), b.db, b.tenant, call("u", "k", first, second))
		require.NoError(t, err)
		require.True(t, added)
		for _, same := range []string{first, `{"c":{"d":[1]},"b":"\u00e9","a":1.0}`, `{"a":1,"b":"é","c":{"\u0064":[1.0]}}`, `{"a":1,"b":"é","c":{"d": [ 1e0 ]}}`} {
			require.Empty(t, recorded(call("u", "k", same, second)), same)
			require.Empty(t, recorded(call("u", "k", same, "")), same)
		}
		large, next := call("u", "k", `{"order_id":9007199254740993}`), call("u", "k", `{"order_id":9007199254740992}`)
		large.Key, next.Key = "large-ids", "large-ids"
		added, err = eventdb.AppendIntake(t.Context(), b.db, b.tenant, large)
		require.NoError(t, err)
		require.True(t, added)
		require.Equal(t, "k", recorded(next))
		large.Events[0].Fields = `{"order_id":9007199254740993.0}`
		require.Empty(t, recorded(large))
		large.Key, large.Events[0].Fields = "huge", `{"a":[1e99999999999999999999]}`
		added, err = eventdb.AppendIntake(t.Context(), b.db, b.tenant, large)
		require.NoError(t, err)
		require.True(t, added)
		next.Key, next.Events[0].Fields = "huge", `{"a":[-1e99999999999999999999]}`
		require.Equal(t, "k", recorded(next))
		for _, other := range []event.Call{
			call("v", "k", first, second), call("u", "l", first, second), call("u", "k", second, first), call("u", "k", first), call("u", "k", first, second, second),
			call("u", "k", `{"a":"1","b":"é","c":{"d":[1]}}`, second), call("u", "k", `{"a":2,"b":"é","c":{"d":[1]}}`, second), call("u", "k", `{"a":1,"b":"é"}`, second),
			call("u", "k", `{"a":1,"b":"é","c":{"d":[1]},"e":null}`, second), call("u", "k", `{"a":1,"b":"é","c":{"d":["1"]}}`, second), call("u", "k", `{"a":1,"b":"é","c":{"d":[1,2]}}`, second), call("u", "k", `{"a":1,"b":"é","c":{"d":[1.00000000000000000001]}}`, second), call("u", "k", `{"a":true,"b":"é","c":{"d":[1]}}`, second),
		} {
			require.Equal(t, "k", recorded(other), "%+v", other.Events)
		}
	})
}

func TestAppendIntake_KeysAreOfTheTenantAndExact(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		other := newTenant(t, b.db)
		for _, sent := range []struct {
			tenant core.TenantAlias
			key    core.IdempotencyKey
			added  bool
		}{
			{b.tenant, "some-key", true}, {other, "some-key", true}, {b.tenant, "Some-Key", true}, {b.tenant, "some-key.", true},
			{b.tenant, "some-key", false}, {other, "some-key", false},
			{b.tenant, "", true}, {b.tenant, "", true}, {b.tenant, "", true},
		} {
			added, err := eventdb.AppendIntake(t.Context(), b.db, sent.tenant, batchOf(sent.key, now, 1))
			require.NoError(t, err)
			require.Equal(t, sent.added, added, sent)
		}
	})
}

// worker returns a bundle whose intake no other test uses, because all tenants share
// one cursor.
func worker(t *testing.T, b bundle) bundle {
	if strings.HasPrefix(b.url, "ws:") {
		url := sqldtest.Start(t).PrimaryURL()
		db := open(t, url)
		require.NoError(t, db.Migrate(t.Context(), now))
		b = bundle{db, url, newTenant(t, db)}
	}
	b.write(t, func(ctx context.Context, tx *store.Tx) error { return putUser(ctx, tx, b.tenant, "a", "u") })
	return b
}

// process processes up to calls calls in one transaction.
func (b bundle) process(t testing.TB, calls int) eventdb.Processed {
	t.Helper()
	var done eventdb.Processed
	require.NoError(t, b.db.Write(t.Context(), now+100, func(tx *store.Tx) (err error) {
		done, err = eventdb.ProcessIntake(t.Context(), tx, calls)
		return err
	}))
	return done
}

// events returns the stored events as texts, in the order of their receipt and id.
func (b bundle) events(t testing.TB) (all []string) {
	t.Helper()
	rows, err := b.raw(t).QueryContext(t.Context(), `SELECT account_id, user_id, key, fields, triggered_at, received_at, processed_at
		FROM event WHERE tenant = ? ORDER BY received_at, id`, string(b.tenant))
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var account, user, key, fields string
		var triggered, received, processed int64
		require.NoError(t, rows.Scan(&account, &user, &key, &fields, &triggered, &received, &processed))
		all = append(all, fmt.Sprint(account, " ", user, " ", key, " ", fields, " ", triggered-int64(now), " ", received-int64(now), " ", processed-int64(now)))
	}
	require.NoError(t, rows.Err())
	return all
}

func (b bundle) waits(t testing.TB) bool {
	t.Helper()
	waits, err := eventdb.IntakeWaits(t.Context(), b.db.Reads)
	require.NoError(t, err)
	return waits
}

func TestProcessIntake_RoundTrip(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		b = worker(t, b)
		batch, err := wire.ParseEvents(core.AccountID(awkward[1]), core.UserID(awkward[4]), []byte(`{"events":[
			{"key":"purchase","fields":{"revenue":1.10,"order_id":"it's \"1\"","big":12345678901234567890123,"none":null,"list":[1,{"a":"\u00fc"}]},"dateTriggered":1700000000001},
			{"key":"`+awkward[4]+`"}]}`))
		require.NoError(t, err)
		batch.Stamp(now+2, entropy())
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			return putUser(ctx, tx, b.tenant, batch.Account, batch.User)
		})
		_, err = eventdb.AppendIntake(t.Context(), b.db, b.tenant, batch)
		require.NoError(t, err)
		require.True(t, b.waits(t))
		require.Equal(t, eventdb.Processed{Calls: 1, Events: 2}, b.process(t, 10))
		require.False(t, b.waits(t))
		require.Equal(t, []string{
			awkward[1] + " " + awkward[4] + ` purchase {"revenue":1.10,"order_id":"it's \"1\"","big":12345678901234567890123,"none":null,"list":[1,{"a":"\u00fc"}]} 1 2 100`,
			awkward[1] + " " + awkward[4] + " " + awkward[4] + " {} 2 2 100",
		}, b.events(t))
	})
}

func TestProcessIntake_InOrderBatchByBatch(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		b = worker(t, b)
		require.Equal(t, eventdb.Processed{}, b.process(t, 2), "empty intake")
		for i := range 5 {
			require.NoError(t, appendOne(t.Context(), b.db, b.tenant, "", now+core.Time(i)))
		}
		for _, want := range []struct {
			taken, stored int
			left          bool
		}{{2, 2, true}, {2, 4, true}, {1, 5, false}, {0, 5, false}} {
			require.Equal(t, eventdb.Processed{Calls: want.taken, Events: want.taken, Left: want.left}, b.process(t, 2))
			events := b.events(t)
			require.Len(t, events, want.stored)
			require.True(t, strings.HasSuffix(events[want.stored-1], fmt.Sprintf(" %d 100", want.stored-1)), "the oldest first")
		}
		require.Equal(t, 5, b.count(t, "intake"), "processing does not change the intake")
	})
}

func TestProcessIntake_FailedBatchIsRetried(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		b = worker(t, b)
		require.NoError(t, appendOne(t.Context(), b.db, b.tenant, "", now))
		err := b.db.Write(t.Context(), now, func(tx *store.Tx) error {
			done, err := eventdb.ProcessIntake(t.Context(), tx, 10)
			require.NoError(t, err)
			require.Equal(t, 1, done.Calls)
			return errTest
		})
		require.ErrorIs(t, err, errTest)
		require.Empty(t, b.events(t))
		require.True(t, b.waits(t))
		require.Equal(t, eventdb.Processed{Calls: 1, Events: 1}, b.process(t, 10))
	})
}

func TestProcessIntake_TwoWorkersTakeEachCallOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		b = worker(t, b)
		const calls = 40
		for i := range calls {
			require.NoError(t, appendOne(t.Context(), b.db, b.tenant, "", now+core.Time(i)))
		}
		second := open(t, strings.TrimSuffix(b.url, "?_pragma=foreign_keys(1)&_pragma=busy_timeout(10000)"))
		taken := make(chan int, 2)
		for _, db := range []*store.Primary{b.db, second} {
			go func() {
				sum := 0
				defer func() { taken <- sum }()
				for {
					var done eventdb.Processed
					err := db.Write(context.Background(), now, func(tx *store.Tx) (err error) {
						done, err = eventdb.ProcessIntake(context.Background(), tx, 3)
						return err
					})
					if err != nil || done.Calls == 0 {
						return
					}
					sum += done.Calls
				}
			}()
		}
		require.Equal(t, calls, <-taken+<-taken)
		require.Len(t, b.events(t), calls)
	})
}

// A batch that was read before another process has processed a part of it changes nothing.
func TestProcessBatch_ReadTooEarly(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		b = worker(t, b)
		for i := range 3 {
			require.NoError(t, appendOne(t.Context(), b.db, b.tenant, "", now+core.Time(i)))
		}
		batch, err := eventdb.NextBatch(t.Context(), b.db.Reads, 10)
		require.NoError(t, err)
		require.Equal(t, 3, batch.Calls)
		require.Equal(t, 1, b.process(t, 1).Events)
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			done, err := eventdb.ProcessBatch(ctx, tx, batch)
			require.Equal(t, eventdb.Processed{Left: true}, done)
			return err
		})
		require.Len(t, b.events(t), 1)
		require.Equal(t, eventdb.Processed{Calls: 2, Events: 2}, b.process(t, 10))
	})
}

// Malformed events, which Kith itself never writes, are skipped: the other events are
// stored and the cursor moves past them.
func TestProcessIntake_SkipsMalformedEvents(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		b = worker(t, b)
		db := b.raw(t)
		put := func(events string) {
			t.Helper()
			_, err := db.ExecContext(t.Context(), `INSERT INTO intake (tenant, account_id, user_id, events, received_at)
				VALUES (?, 'a', 'u', ?, ?)`, string(b.tenant), events, int64(now))
			require.NoError(t, err)
		}
		good := `{"id":"id1","key":"k","fields":{},"dateTriggered":1}`
		put(`[` + good + `]`)
		malformed := []string{
			`1`, `null`, `true`, `"text"`, `"{"`, `[]`, `[` + good + `]`, `{}`,
			good, // the same id again
			`{"key":"k","fields":{},"dateTriggered":1}`,
			`{"id":"x1","fields":{},"dateTriggered":1}`,
			`{"id":"x2","key":"k","dateTriggered":1}`,
			`{"id":"x3","key":"k","fields":{}}`,
			`{"id":null,"key":"k","fields":{},"dateTriggered":1}`,
		}
		for _, p := range malformed {
			put(`[` + p + `]`)
		}
		put(`[` + strings.Join(malformed, ",") + `,{"id":"id2","key":"k","fields":{},"dateTriggered":2}]`)
		put(`[{"id":"id3","key":5,"fields":{},"dateTriggered":"3"},{"id":"id4","key":"k","fields":{},"dateTriggered":4.5}]`)
		require.Equal(t, eventdb.Processed{Calls: len(malformed) + 3, Events: 4, Unreadable: 2 * len(malformed)}, b.process(t, 100))
		require.False(t, b.waits(t))
		require.Len(t, b.events(t), 4)
	})
}

// An edge whose replica lags accepts events of a user who has been deleted.
func TestProcessIntake_DeletedUserStaysDeleted(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		b = worker(t, b)
		require.NoError(t, appendOne(t.Context(), b.db, b.tenant, "", now))
		late := batchOf("", now, 2)
		late.User = "deleted"
		added, err := eventdb.AppendIntake(t.Context(), b.db, b.tenant, late)
		require.NoError(t, err)
		require.True(t, added)
		require.Equal(t, eventdb.Processed{Calls: 2, Events: 1, Orphaned: 2}, b.process(t, 100))
		require.False(t, b.waits(t))
		require.Len(t, b.events(t), 1)
		// Nothing of the user stays, and the key is used.
		named, err := store.One[int](t.Context(), b.db.Reads, "named", `SELECT count(*) FROM intake WHERE tenant = ? AND (user_id <> '' OR events <> '[]')`, string(b.tenant))
		require.NoError(t, err)
		require.Equal(t, 1, named)
	})
}

// The events of a user who is deleted while a batch is processed are no damage.
func TestProcessIntake_UserDeletedMeanwhile(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		b = worker(t, b)
		require.NoError(t, appendOne(t.Context(), b.db, b.tenant, "", now))
		late := batchOf("", now, 2)
		late.User = "deleted"
		_, err := eventdb.AppendIntake(t.Context(), b.db, b.tenant, late)
		require.NoError(t, err)
		batch, err := eventdb.NextBatch(t.Context(), b.db.Reads, 100)
		require.NoError(t, err)
		_, err = b.raw(t).ExecContext(t.Context(), `UPDATE intake SET account_id = '', user_id = '', events = '[]' WHERE tenant = ? AND user_id = 'deleted'`, string(b.tenant))
		require.NoError(t, err)
		done, err := store.WriteValue(t.Context(), b.db.Write, now, func(tx *store.Tx) (eventdb.Processed, error) {
			return eventdb.ProcessBatch(t.Context(), tx, batch)
		})
		require.NoError(t, err)
		require.Equal(t, eventdb.Processed{Calls: 2, Events: 1, Orphaned: 2}, done)
	})
}

// Only calls that are both processed and old are deleted.
func TestDeleteProcessedIntake(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		b = worker(t, b)
		for i := range 6 {
			require.NoError(t, appendOne(t.Context(), b.db, b.tenant, "", now+core.Time(i)))
			if i == 4 {
				b.process(t, 100)
			}
		}
		deleteOld := func(before core.Time, limit int) (n int) {
			b.write(t, func(ctx context.Context, tx *store.Tx) (err error) {
				n, err = eventdb.DeleteProcessedIntake(ctx, tx, before, limit)
				return err
			})
			return n
		}
		require.Zero(t, deleteOld(now, 100))
		require.Equal(t, 2, deleteOld(now+100, 2))
		require.Equal(t, 2, deleteOld(now+4, 100))
		require.Equal(t, 1, deleteOld(now+100, 100))
		require.Zero(t, deleteOld(now+100, 100))
		require.True(t, b.waits(t))
		require.Equal(t, eventdb.Processed{Calls: 1, Events: 1}, b.process(t, 100))
		require.Equal(t, 1, deleteOld(now+100, 100))
		// An emptied intake continues after its cursor.
		require.NoError(t, appendOne(t.Context(), b.db, b.tenant, "", now))
		require.Equal(t, eventdb.Processed{Calls: 1, Events: 1}, b.process(t, 100))
	})
}

// A server ends a transaction after 5 seconds if another writer waits, so the size
// of a batch is limited in bytes, too.
func TestProcessIntake_BatchIsBoundedBySize(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		b = worker(t, b)
		large := batchOf("", now, event.MaxEvents)
		for i := range large.Events {
			large.Events[i].Fields = `{"text":"` + strings.Repeat("x", 900) + `"}`
		}
		for range 3 {
			_, err := eventdb.AppendIntake(t.Context(), b.db, b.tenant, restamped(large))
			require.NoError(t, err)
		}
		require.NoError(t, appendOne(t.Context(), b.db, b.tenant, "", now))
		for _, left := range []bool{true, false} {
			done := b.process(t, 500)
			require.Equal(t, 2, done.Calls, "the call that exceeds the limit is the last of its batch")
			require.Equal(t, left, done.Left)
		}
		require.False(t, b.waits(t))
	})
}

// restamped returns the same events with new ids.
func restamped(b event.Call) event.Call {
	b.Events = append([]event.Event(nil), b.Events...)
	b.Stamp(b.Received, entropy())
	return b
}
