package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store"
	"kith/backend/store/sqldtest"
	"kith/core"
	"kith/core/wire"
)

// requireUnavailable requires that callers get 503, and that the log has the
// cause.
func requireUnavailable(t *testing.T, err error, cause string) {
	t.Helper()
	require.Error(t, err)
	var known *core.Error
	require.ErrorAs(t, err, &known)
	require.Equal(t, core.CodeUnavailable, known.Code)
	status, _ := wire.Failure(err)
	require.Equal(t, 503, status)
	require.True(t, store.IsUnavailable(err))
	require.Contains(t, err.Error(), cause)
}

// write inserts a row of 100 kB.
func write(ctx context.Context, db *store.Primary) error {
	return db.Write(ctx, 1, func(tx *store.Tx) error {
		return tx.Exec(ctx, "fill", `INSERT INTO filler VALUES (randomblob(100000))`)
	})
}

// A file that is full, read-only, away, damaged or locked gives the code unavailable, for
// reads and writes; a wrong statement does not.
func TestUnavailable_File(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	open := func(t *testing.T, path, options string) *store.Primary {
		db, err := store.Open("file:"+path+options, "")
		require.NoError(t, err)
		t.Cleanup(func() { _ = db.Close() })
		return db
	}
	made := func(t *testing.T) (path string) {
		path = filepath.Join(t.TempDir(), "kith.db")
		db := open(t, path, "")
		require.NoError(t, db.WriteOne(ctx, func(r store.Reads) error {
			return exec(ctx, r, `CREATE TABLE filler (b BLOB)`)
		}))
		require.NoError(t, db.Close())
		return path
	}
	t.Run("full", func(t *testing.T) {
		t.Parallel()
		db := open(t, made(t), "?_pragma=max_page_count(20)")
		requireUnavailable(t, write(ctx, db), "database or disk is full")
	})
	t.Run("read-only", func(t *testing.T) {
		t.Parallel()
		db := open(t, made(t), "?_pragma=query_only(1)")
		requireUnavailable(t, write(ctx, db), "readonly database")
	})
	t.Run("away", func(t *testing.T) {
		t.Parallel()
		path := made(t)
		db := open(t, path, "")
		require.NoError(t, os.RemoveAll(filepath.Dir(path)))
		requireUnavailable(t, db.Ping(ctx), "unable to open database file")
		requireUnavailable(t, write(ctx, db), "unable to open database file")
	})
	t.Run("damaged", func(t *testing.T) {
		t.Parallel()
		path := made(t)
		require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("not a database", 1000)), 0o600))
		db := open(t, path, "")
		_, err := db.HasTable(ctx, "filler")
		requireUnavailable(t, err, "file is not a database")
	})
	t.Run("locked", func(t *testing.T) {
		t.Parallel()
		path := made(t)
		holder := open(t, path, "")
		require.NoError(t, holder.Write(ctx, 1, func(*store.Tx) error {
			db := open(t, path, "?_pragma=busy_timeout(1)")
			requireUnavailable(t, write(ctx, db), "database is locked")
			return nil
		}))
	})
	t.Run("a wrong statement", func(t *testing.T) {
		t.Parallel()
		db := open(t, made(t), "")
		_, err := db.QueryContext(ctx, `SELECT 1 FROM nowhere`)
		require.ErrorContains(t, err, "no such table")
		require.False(t, store.IsUnavailable(err))
		require.False(t, store.IsUnavailable(db.Write(ctx, 1, func(*store.Tx) error { return errors.New("a rule refuses it") })))
	})
}

func exec(ctx context.Context, r store.Reads, statement string) error {
	rows, err := r.QueryContext(ctx, statement)
	if err != nil {
		return err
	}
	defer rows.Close()
	return rows.Err()
}

// A server that is stopped gives the code unavailable, for reads and writes, on old and on
// new connections.
func TestUnavailable_Server(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	cluster := sqldtest.Start(t)
	db, err := store.Open(cluster.PrimaryURL(), "")
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	require.NoError(t, db.WriteOne(ctx, func(r store.Reads) error { return exec(ctx, r, `CREATE TABLE filler (b BLOB)`) }))
	require.NoError(t, db.Ping(ctx))
	cluster.KillPrimary(t)
	for range 2 {
		requireUnavailable(t, db.Ping(ctx), "")
		requireUnavailable(t, write(ctx, db), "")
	}
}
