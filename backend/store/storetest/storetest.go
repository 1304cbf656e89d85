// Package storetest gives tests databases on which the migrations have run. They
// make dozens of tables, and SQLite with the race detector takes long for them: the
// tests of a package together would spend more time on that than on what they test.
//
// Tests of migrations themselves have no use for it.
package storetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"kith/backend/store"
)

// File makes an embedded database that was migrated, empty, in a folder of the
// test's own and returns its URL. It is a copy of one that this process has
// migrated once, some time ago; to migrate it again does nothing.
func File(t testing.TB) string {
	t.Helper()
	text, err := migrated()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kith.db")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return "file:" + path
}

// migrated is the file of which all others are copies. It is kept in memory, so
// that nothing has to be removed at the end of the process.
var migrated = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "storetest")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "kith.db")
	db, err := store.Open("file:"+path, "")
	if err != nil {
		return nil, err
	}
	// Closing moves what is in the write-ahead log to the file.
	if err := errors.Join(db.Migrate(context.Background(), 1), db.Close()); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})
