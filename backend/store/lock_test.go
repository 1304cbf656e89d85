package store_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/libsql"
	"kith/backend/store"
	"kith/backend/store/sqldtest"
)

// While another process holds the lock of a file, as one does that is paused: a write that
// has waited long enough fails, and with it those that wait; new ones fail at once, and
// reads are answered. When the lock is free, writes are accepted again without a call.
func TestLock_HeldByAnotherProcess(t *testing.T) {
	t.Parallel()
	// A write that waits for the lock itself then waits until the deadline of the test.
	const long = "?_pragma=busy_timeout(600000)"
	for name, c := range map[string]struct {
		first   func(context.Context, *store.Primary, func()) error
		options string
	}{
		// As an event call: the statement waits until its caller gives up.
		"one statement with a time limit": {func(ctx context.Context, db *store.Primary, waits func()) error {
			ctx, cancel := context.WithTimeout(ctx, 1500*time.Millisecond)
			defer cancel()
			return db.WriteOne(ctx, func(r store.Reads) error {
				waits()
				return exec(ctx, r, `INSERT INTO filler VALUES ('x')`)
			})
		}, long},
		"a transaction": {func(ctx context.Context, db *store.Primary, waits func()) error {
			waits()
			return write(ctx, db)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			path := "file:" + filepath.Join(t.TempDir(), "kith.db")
			holder, err := store.Open(path, "")
			require.NoError(t, err)
			t.Cleanup(func() { _ = holder.Close() })
			require.NoError(t, holder.WriteOne(ctx, func(r store.Reads) error { return exec(ctx, r, `CREATE TABLE filler (b BLOB)`) }))
			db, err := store.Open(path+c.options, "")
			require.NoError(t, err)
			t.Cleanup(func() { _ = db.Close() })
			require.NoError(t, db.Watch(time.Second, slog.New(slog.DiscardHandler)))
			require.NoError(t, write(ctx, db))
			require.NoError(t, holder.Write(ctx, 1, func(*store.Tx) error {
				waiting, failed := make(chan struct{}), make(chan error, 4)
				go func() { failed <- c.first(ctx, db, func() { close(waiting) }) }()
				<-waiting
				for range 3 {
					go func() { failed <- write(ctx, db) }()
				}
				for range cap(failed) {
					select {
					case err := <-failed:
						require.Error(t, err)
					case <-time.After(sqldtest.Deadline):
						t.Fatal("a write that waited did not fail with the first one, and waits for the lock itself")
					}
				}
				require.True(t, db.Away())
				err := write(ctx, db)
				require.ErrorIs(t, err, libsql.ErrRefused)
				requireUnavailable(t, err, "the database accepts no writes at the moment")
				return db.Ping(ctx)
			}))
			require.Eventually(t, func() bool { return !db.Away() }, time.Minute, time.Millisecond)
			require.NoError(t, write(ctx, db))
		})
	}
}

// A database that is closed while another process holds the lock no longer waits for it.
func TestLock_ClosedWhileHeld(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	path := "file:" + filepath.Join(t.TempDir(), "kith.db")
	holder, err := store.Open(path, "")
	require.NoError(t, err)
	t.Cleanup(func() { _ = holder.Close() })
	require.NoError(t, holder.WriteOne(ctx, func(r store.Reads) error { return exec(ctx, r, `CREATE TABLE filler (b BLOB)`) }))
	db, err := store.Open(path, "")
	require.NoError(t, err)
	require.NoError(t, db.Watch(time.Second, slog.New(slog.DiscardHandler)))
	require.NoError(t, holder.Write(ctx, 1, func(*store.Tx) error {
		require.Error(t, write(ctx, db))
		require.True(t, db.Away())
		return db.Close()
	}))
}
