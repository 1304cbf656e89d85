package store_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/store"
	"kith/backend/store/eventdb"
	"kith/backend/store/rowtest"
	"kith/backend/store/sqldtest"
	"kith/backend/store/userdb"
	"kith/core"
	"kith/core/event"
)

func TestWrite_IsVisibleOutsideOnlyAfterCommit(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			require.Equal(t, now, tx.Now)
			require.NoError(t, putUser(ctx, tx, b.tenant, "a", "u"))
			known, err := userdb.UserExists(ctx, tx.Reads, b.tenant, "a", "u")
			require.NoError(t, err)
			require.True(t, known, "in the transaction")
			known, err = userdb.UserExists(ctx, b.db.Reads, b.tenant, "a", "u")
			require.NoError(t, err)
			require.False(t, known, "outside, before it commits")
			return nil
		})
		known, err := userdb.UserExists(t.Context(), b.db.Reads, b.tenant, "a", "u")
		require.NoError(t, err)
		require.True(t, known, "outside, after it committed")
	})
}

func TestWrite_FailureIsRolledBack(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		ways := map[string]func(cancel func()) error{
			"error":                      func(func()) error { return errTest },
			"cancelled":                  func(cancel func()) error { cancel(); return nil },
			"cancelled and said so":      func(cancel func()) error { cancel(); return context.Canceled },
			"cancelled during statement": nil, // see below
		}
		for name, end := range ways {
			ctx, cancel := context.WithCancel(t.Context())
			account := core.AccountID(name)
			err := b.db.Write(ctx, now, func(tx *store.Tx) error {
				if err := putUser(ctx, tx, b.tenant, account, "u"); err != nil {
					return err
				}
				if end == nil {
					cancel()
					return putUser(ctx, tx, b.tenant, account, "v")
				}
				return end(cancel)
			})
			cancel()
			require.Error(t, err, name)
			_, known, err := userdb.Account(t.Context(), b.db.Reads, b.tenant, account)
			require.NoError(t, err, name)
			require.False(t, known, name)
			// More often than there are connections: none of them is still in a
			// transaction.
			for range 8 {
				b.write(t, func(ctx context.Context, tx *store.Tx) error {
					return putUser(ctx, tx, b.tenant, account+" again", "u")
				})
			}
		}
	})
}

// cancelOnErr is a context that, once armed, is cancelled by a call of Err, after Err
// has read its result.
type cancelOnErr struct {
	context.Context
	cancel context.CancelFunc
	armed  atomic.Bool
}

func (l *cancelOnErr) Err() error {
	err := l.Context.Err()
	if l.armed.Load() {
		l.cancel()
	}
	return err
}

// A caller that cancels during COMMIT still gets the result of the COMMIT.
func TestWrite_CancelledDuringCommit(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		ctx := &cancelOnErr{}
		ctx.Context, ctx.cancel = context.WithCancel(t.Context())
		require.NoError(t, b.db.Write(ctx, now, func(tx *store.Tx) error {
			ctx.armed.Store(true)
			return putUser(t.Context(), tx, b.tenant, "a", "u")
		}))
		require.Error(t, ctx.Context.Err())
		_, known, err := userdb.Account(t.Context(), b.db.Reads, b.tenant, "a")
		require.NoError(t, err)
		require.True(t, known)
	})
}

func TestWrite_PanicIsRolledBack(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		require.PanicsWithValue(t, "panic of the test", func() {
			_ = b.db.Write(t.Context(), now, func(tx *store.Tx) error {
				require.NoError(t, putUser(t.Context(), tx, b.tenant, "a", "u"))
				panic("panic of the test")
			})
		})
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			_, known, err := userdb.Account(ctx, tx.Reads, b.tenant, "a")
			require.False(t, known)
			return err
		})
	})
}

// Concurrent transactions that read a number and write it back lose no increment.
func TestWrite_ConcurrentWritersLoseNoUpdate(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		const writers = 64
		b.write(t, func(ctx context.Context, tx *store.Tx) error { return putUser(ctx, tx, b.tenant, "a", "u") })
		failed := make(chan error, writers)
		for range writers {
			go func() {
				failed <- b.db.Write(t.Context(), now, func(tx *store.Tx) error {
					a, _, err := userdb.Account(t.Context(), tx.Reads, b.tenant, "a")
					if err != nil {
						return err
					}
					a.IntervalValue++
					return rowtest.PutAccount(t.Context(), tx, b.tenant, a)
				})
			}()
		}
		for range writers {
			require.NoError(t, <-failed)
		}
		a, _, err := userdb.Account(t.Context(), b.db.Reads, b.tenant, "a")
		require.NoError(t, err)
		require.Equal(t, int64(writers), a.IntervalValue)
	})
}

// After a restart of the server the pools are full of dead connections. The first
// calls must succeed nevertheless.
func TestWrite_AfterTheServerRestarted(t *testing.T) {
	t.Parallel()
	c := sqldtest.Start(t)
	db := open(t, c.PrimaryURL())
	require.NoError(t, db.Migrate(t.Context(), now))
	tenant := newTenant(t, db)
	require.NoError(t, db.Write(t.Context(), now, func(tx *store.Tx) error { return putUser(t.Context(), tx, tenant, "a", "u") }))
	for _, call := range []func() error{
		func() error {
			return db.Write(t.Context(), now, func(tx *store.Tx) error { return putUser(t.Context(), tx, tenant, "a", "u") })
		},
		func() error { return appendOne(t.Context(), db, tenant, "", now) },
		func() error { _, _, err := userdb.Account(t.Context(), db.Reads, tenant, "a"); return err },
	} {
		fillPools(t, db, tenant)
		c.KillPrimary(t)
		c.StartPrimary(t)
		require.NoError(t, call())
	}
}

// A server that accepts connections but does not answer, such as a paused one, does
// not block a call for longer than its context allows.
func TestOpen_ServerThatAnswersNothing(t *testing.T) {
	t.Parallel()
	c := sqldtest.StartWith(t, sqldtest.Options{Replicas: 1})
	c.Replicas[0].Pause(t)
	defer c.Replicas[0].Resume(t)
	db := open(t, c.ReplicaURL())
	for _, call := range []func(context.Context) error{
		db.Ping,
		func(ctx context.Context) error { return db.Write(ctx, now, func(*store.Tx) error { return nil }) },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		ended := make(chan error)
		go func() { ended <- call(ctx) }()
		select {
		case err := <-ended:
			require.ErrorIs(t, err, context.DeadlineExceeded)
		case <-time.After(sqldtest.Deadline / 2):
			t.Fatal("the call waits for the driver's timeout of 2 minutes")
		}
		cancel()
	}
}

// A server ends a transaction that takes too long while another writer waits. The
// transaction is retried from its start, and is committed once.
func TestWrite_IsRetriedAfterTheServerEndedIt(t *testing.T) {
	t.Parallel()
	c := sqldtest.Start(t)
	db, other := open(t, c.PrimaryURL()), open(t, c.PrimaryURL())
	require.NoError(t, db.Migrate(t.Context(), now))
	tenant := newTenant(t, db)
	tries := 0
	require.NoError(t, db.Write(t.Context(), now, func(tx *store.Tx) error {
		tries++
		if tries == 1 {
			// Another writer waits, so the server ends this transaction.
			require.NoError(t, putUser(t.Context(), tx, tenant, "lost", "u"))
			_, err := userdb.UserExists(t.Context(), tx.Reads, tenant, "lost", "u") // sends what was written
			require.NoError(t, err)
			require.NoError(t, other.Write(t.Context(), now, func(tx *store.Tx) error { return putUser(t.Context(), tx, tenant, "b", "u") }))
		}
		return putUser(t.Context(), tx, tenant, "a", "u")
	}))
	require.Equal(t, 2, tries)
	for id, want := range map[core.AccountID]bool{"lost": false, "a": true, "b": true} {
		_, known, err := userdb.Account(t.Context(), db.Reads, tenant, id)
		require.NoError(t, err)
		require.Equal(t, want, known, id)
	}
}

// fillPools makes the store open several connections to write and to read.
func fillPools(t *testing.T, db *store.Primary, tenant core.TenantAlias) {
	t.Helper()
	var calls sync.WaitGroup
	for range 32 {
		calls.Go(func() {
			_, _ = userdb.UserExists(t.Context(), db.Reads, tenant, "a", "u")
			_ = db.Write(t.Context(), now, func(*store.Tx) error { return nil })
		})
	}
	calls.Wait()
}

// Only the store prevents that an event call without an idempotency key is stored
// twice: if the server dies after running the statement and before answering, the
// statement must not be sent again.
func TestAppendIntake_IsNeverSentTwice(t *testing.T) {
	t.Parallel()
	c := sqldtest.Start(t)
	proxy := newFlakyProxy(t, c.PrimaryURL())
	direct, lossy := open(t, c.PrimaryURL()), open(t, proxy.url())
	require.NoError(t, direct.Migrate(t.Context(), now))
	tenant := newTenant(t, direct)
	require.NoError(t, appendOne(t.Context(), lossy, tenant, "", now))

	proxy.dropResponsesWith(`"seq"`)
	require.Error(t, appendOne(t.Context(), lossy, tenant, "", now))
	proxy.dropResponsesWith("")
	require.NoError(t, appendOne(t.Context(), lossy, tenant, "", now))

	b := bundle{db: direct, url: c.PrimaryURL(), tenant: tenant}
	require.Equal(t, 3, b.count(t, "intake"))
}

func appendOne(ctx context.Context, db *store.Primary, tenant core.TenantAlias, key core.IdempotencyKey, at core.Time) error {
	added, err := eventdb.AppendIntake(ctx, db, tenant, batchOf(key, at, 1))
	if err == nil && !added {
		err = event.Duplicate("")
	}
	return err
}

func batchOf(key core.IdempotencyKey, at core.Time, events int) event.Call {
	b := event.Call{Account: "a", User: "u", Key: key}
	for i := range events {
		b.Events = append(b.Events, event.Event{Key: fmt.Sprintf("purchase-%d", i), Fields: `{"revenue":9.99}`})
	}
	b.Stamp(at, entropy())
	return b
}

var drawn atomic.Uint32

// entropy returns bytes that make ids distinct.
func entropy() (b [6]byte) {
	binary.BigEndian.PutUint32(b[:], drawn.Add(1))
	return b
}

// count counts the rows of a table that belong to the test's tenant.
func (b bundle) count(t testing.TB, table string) (n int) {
	t.Helper()
	err := b.raw(t).QueryRowContext(t.Context(), `SELECT count(*) FROM `+table+` WHERE tenant = ?`, string(b.tenant)).Scan(&n)
	require.NoError(t, err)
	return n
}
