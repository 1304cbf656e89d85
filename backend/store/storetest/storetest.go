// Package storetest makes migrated databases for tests. Running the migrations for each
// test would take longer than the tests themselves, above all with the race detector.
// Tests of the migrations do not use it.
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

// File makes an empty, migrated embedded database in a temporary folder of the test and
// returns its URL. It is a copy of a database that this process has migrated once.
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

// migrated returns the content of a migrated file. It is kept in memory, so that
// nothing has to be deleted at the end of the process.
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
	// Close copies the write-ahead log into the file.
	if err := errors.Join(db.Migrate(context.Background(), 1), db.Close()); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})
