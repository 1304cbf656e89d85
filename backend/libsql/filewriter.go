package libsql

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// fileWriter writes to a file, on the only connection of the process that writes.
type fileWriter struct {
	pool *sql.DB
	conn *sql.Conn
	log  *Log
	limits
	most     time.Duration
	prepared map[string]*sql.Stmt
}

func openFileWriter(ctx context.Context, file string, l limits, timeout time.Duration) (*fileWriter, error) {
	w := &fileWriter{limits: l, most: timeout, prepared: make(map[string]*sql.Stmt)}
	var err error
	if w.log, err = NewLog(file); err != nil {
		return nil, err
	}
	if w.pool, err = filePool(file, 1, append([]string{"busy_timeout(0)"}, filePragmas...)...); err != nil {
		return nil, err
	}
	err = w.whileLocked(func() bool { return ctx.Err() == nil }, func() (err error) {
		w.conn, err = w.pool.Conn(ctx)
		return err
	})
	if err != nil {
		return nil, errors.Join(err, w.pool.Close())
	}
	return w, nil
}

func (w *fileWriter) timeout() time.Duration { return w.most }

// linger is zero: while a group is flushed the next one grows.
func (w *fileWriter) linger() time.Duration { return 0 }

func (w *fileWriter) durable() error { return w.log.Wait() }

func (w *fileWriter) close() error {
	return errors.Join(w.conn.Close(), w.pool.Close(), w.log.Close())
}

func (w *fileWriter) transact(ctx context.Context, calls []*call) ([]outcome, error) {
	results := make([]outcome, len(calls))
	if len(calls) == 1 { // is a transaction by itself
		_ = w.whileLocked(calls[0].awaited, func() error {
			results[0] = w.one(ctx, calls[0])
			return results[0].err
		})
		return results, nil
	}
	awaited := func() bool { return slices.ContainsFunc(calls, (*call).awaited) }
	if err := w.whileLocked(awaited, func() error { return w.exec(ctx, "BEGIN IMMEDIATE") }); err != nil {
		return nil, err
	}
	for i, c := range calls {
		if results[i] = w.one(ctx, c); endsAll(results[i].err) {
			return nil, errors.Join(results[i].err, w.rollback())
		}
	}
	if err := w.exec(ctx, "COMMIT"); err != nil {
		return nil, errors.Join(err, w.rollback())
	}
	return results, nil
}

// one runs one statement, unless its caller has given up.
func (w *fileWriter) one(ctx context.Context, c *call) (done outcome) {
	if !c.awaited() {
		return outcome{err: errNotRun}
	}
	done.result, done.err = w.run(ctx, c.text, c.args)
	return done
}

// rollback undoes a transaction. SQLite may have undone it already, so that there is
// none is no error.
func (w *fileWriter) rollback() error {
	if err := w.exec(context.Background(), "ROLLBACK"); codeOf(err) != sqlite3.SQLITE_ERROR {
		return err
	}
	return nil
}

func (w *fileWriter) exec(ctx context.Context, text string) error {
	_, err := w.run(ctx, text, nil)
	return err
}

func (w *fileWriter) run(ctx context.Context, text string, args []any) (*result, error) {
	stmt, err := w.statement(ctx, text)
	if err != nil {
		return nil, err
	}
	var rows *sql.Rows
	if stmt != nil {
		rows, err = stmt.QueryContext(ctx, args...)
	} else {
		rows, err = w.conn.QueryContext(ctx, text, args...)
	}
	if err != nil {
		return nil, err
	}
	return w.readAll(rows)
}

// statement returns the prepared statement of a text, or nil when maxStatements are
// kept.
func (w *fileWriter) statement(ctx context.Context, text string) (*sql.Stmt, error) {
	if stmt, ok := w.prepared[text]; ok || len(w.prepared) >= maxStatements {
		return stmt, nil
	}
	stmt, err := w.conn.PrepareContext(ctx, text)
	if err == nil {
		w.prepared[text] = stmt
	}
	return stmt, err
}

// codeOf is the primary result code of SQLite, or SQLITE_OK.
func codeOf(err error) int {
	if failed := (*sqlite.Error)(nil); errors.As(err, &failed) {
		return failed.Code() & 0xff
	}
	return sqlite3.SQLITE_OK
}

// endsAll reports an error after which SQLite may have ended the transaction
// (sqlite.org/lang_transaction.html): the next statement would be outside of it.
func endsAll(err error) bool {
	switch codeOf(err) {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_CORRUPT:
		return true
	}
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// lockPoll is how often a writer asks for the lock of a file. SQLite's own wait asks
// at intervals that grow to 100 ms, and seldom meets the few milliseconds for which a
// bulk import in another process leaves the lock free. The import can see the waiting
// writer, and ends its batch.
const lockPoll = time.Millisecond

// lockWait is how long a statement waits for the lock of a file: half of what its
// request may take, so that the guest can still answer.
func lockWait(timeout time.Duration) time.Duration { return timeout / 2 }

// whileLocked calls do again while another process has the lock of the file, the
// result is awaited, and lockWait is not over.
func (w *fileWriter) whileLocked(awaited func() bool, do func() error) error {
	for end := time.Now().Add(lockWait(w.most)); ; time.Sleep(lockPoll) {
		err := do()
		if codeOf(err) != sqlite3.SQLITE_BUSY || time.Now().After(end) || !awaited() {
			return err
		}
	}
}
