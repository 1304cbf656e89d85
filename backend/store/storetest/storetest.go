// Package storetest makes migrated databases for tests. Running the migrations for each
// test would take longer than the tests themselves, above all with the race detector.
// Tests of the migrations do not use it.
package storetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
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

// RequireIndexed fails if the index of search terms does not have exactly the terms of the users.
// FTS5's own integrity-check is not used: in SQLite 3.45, that of the server, it calls some
// indexes malformed from which secure-delete has removed terms.
func RequireIndexed(t testing.TB, r store.Reads) {
	t.Helper()
	// One statement, so that other tests on a server change nothing between.
	rows, err := store.List[string](t.Context(), r, "index", `SELECT 'user' || char(31) || seq || char(31) || terms FROM user WHERE terms <> ''
		UNION ALL SELECT 'index' || char(31) || doc || char(31) || term FROM user_index_term`)
	if err != nil {
		t.Fatal(err)
	}
	in := map[string]map[string]bool{"user": {}, "index": {}}
	for _, row := range rows {
		parts := strings.Split(row, "\x1f")
		for _, term := range parts[2:] {
			in[parts[0]][parts[1]+" "+strings.Map(func(c rune) rune { // the index ignores the case of ASCII
				if 'A' <= c && c <= 'Z' {
					c += 'a' - 'A'
				}
				return c
			}, term)] = true
		}
	}
	for _, of := range [][2]string{{"user", "index"}, {"index", "user"}} {
		for term := range in[of[0]] {
			if !in[of[1]][term] {
				t.Errorf("term %q is in the %s and not in the %s", term, of[0], of[1])
			}
		}
	}
}
