package libsql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"
)

// filePragmas are set on every connection to a file. With WAL, readers and the writer
// do not wait for each other. With synchronous=NORMAL, SQLite does not flush at each
// commit; Log does, with one flush for several commits.
var filePragmas = []string{"journal_mode(WAL)", "synchronous(NORMAL)"}

// file is a database in a file. One connection of the process writes; the others are
// read-only.
type file struct {
	*fileWriter
	readers *sql.DB
}

func openFile(ctx context.Context, config Config) (*file, error) {
	if strings.Contains(config.URL, ":memory:") || strings.Contains(config.URL, "mode=memory") {
		return nil, errors.New("database: cannot be in memory, since each connection would have its own; give the path of a file")
	}
	pragmas := append([]string{fmt.Sprintf("busy_timeout(%d)", lockWait(config.Timeout).Milliseconds()), "query_only(1)"}, filePragmas...)
	readers, err := filePool(config.URL, maxReaders(), pragmas...)
	if err != nil {
		return nil, err
	}
	w, err := openFileWriter(ctx, config.URL, config.limits(), config.Timeout)
	if err != nil {
		return nil, errors.Join(err, readers.Close())
	}
	return &file{w, readers}, nil
}

func (f *file) close() error { return errors.Join(f.fileWriter.close(), f.readers.Close()) }

// prepare implements source.
func (f *file) prepare(ctx context.Context, s *statement) (err error) {
	s.prepared, err = f.readers.PrepareContext(ctx, s.text)
	return err
}

// read implements source.
func (f *file) read(ctx context.Context, s *statement, args []any) (*result, error) {
	var rows *sql.Rows
	var err error
	if s.prepared != nil {
		rows, err = s.prepared.QueryContext(ctx, args...)
	} else {
		rows, err = f.readers.QueryContext(ctx, s.text, args...)
	}
	if err != nil {
		return nil, err
	}
	return f.readAll(rows)
}

// maxReaders is the number of connections that read one database file. More readers
// than processors gain nothing: a reader computes and does not wait.
func maxReaders() int { return max(4, runtime.GOMAXPROCS(0)) }

// filePool returns a pool of connections to a file, each with the given pragmas.
func filePool(file string, connections int, pragmas ...string) (*sql.DB, error) {
	connector, err := NewConnector(WithPragmas(file, pragmas...), "")
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	db.SetConnMaxIdleTime(5 * time.Minute)
	return db, nil
}
