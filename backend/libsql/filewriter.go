package libsql

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// fileWriter writes to a file, on the only connection of the process that may write.
type fileWriter struct {
	conn    *fileConn
	log     *Log
	maxTime time.Duration // of a transaction
}

func openFileWriter(ctx context.Context, file string, l limits, timeout time.Duration, report *slog.Logger) (*fileWriter, error) {
	if err := makePrivate(file); err != nil {
		return nil, err
	}
	log, err := NewLog(file)
	if err != nil {
		return nil, err
	}
	w := &fileWriter{log: log, maxTime: timeout}
	err = w.retryWhileLocked(func() bool { return ctx.Err() == nil }, func() (err error) {
		w.conn, err = connectFile(file, l, append([]string{"busy_timeout(0)"}, filePragmas...)...)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := log.Watch(report); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

func (w *fileWriter) timeout() time.Duration { return w.maxTime }

// linger is zero: the next group grows while the last one is flushed.
func (w *fileWriter) linger() time.Duration { return 0 }

// interval is 2 ms: on a fast disk a commit and a flush take less, and cost more of the
// processor than the statements between them.
func (w *fileWriter) interval() time.Duration { return 2 * time.Millisecond }

// probe takes the lock of the file and releases it.
func (w *fileWriter) probe(ctx context.Context) error {
	if err := w.log.Err(); err != nil {
		return err
	}
	if err := w.exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	return w.rollback()
}

// probePause is short: a probe costs microseconds.
func (w *fileWriter) probePause() time.Duration { return 20 * time.Millisecond }

func (w *fileWriter) durable() error { return w.log.Wait() }

func (w *fileWriter) close() error {
	w.conn.close()
	return w.log.Close()
}

// transact does not end with ctx: a caller who gives up ends the wait for the lock, and
// a statement that has the lock is not interrupted.
func (w *fileWriter) transact(ctx context.Context, calls []*call) ([]outcome, error) {
	if err := w.log.Err(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.maxTime)
	defer cancel()
	results := make([]outcome, len(calls))
	if len(calls) == 1 { // one statement is a transaction by itself
		_ = w.retryWhileLocked(calls[0].awaited, func() error {
			results[0] = w.runOne(ctx, calls[0])
			return results[0].err
		})
		return results, nil
	}
	awaited := func() bool { return slices.ContainsFunc(calls, (*call).awaited) }
	if err := w.retryWhileLocked(awaited, func() error { return w.exec(ctx, "BEGIN IMMEDIATE") }); err != nil {
		return nil, err
	}
	for i, c := range calls {
		if results[i] = w.runOne(ctx, c); abortsTransaction(results[i].err) {
			return nil, errors.Join(results[i].err, w.rollback())
		}
	}
	if err := w.exec(ctx, "COMMIT"); err != nil {
		return nil, errors.Join(err, w.rollback())
	}
	return results, nil
}

// runOne runs one statement, unless its caller has given up.
func (w *fileWriter) runOne(ctx context.Context, c *call) (done outcome) {
	if !c.awaited() {
		return outcome{err: errNotRun}
	}
	done.result, done.err = w.conn.run(ctx, c.text, c.args)
	return done
}

// rollback undoes a transaction. SQLite may have undone it already; then rollback
// returns nil.
func (w *fileWriter) rollback() error {
	if err := w.exec(context.Background(), "ROLLBACK"); codeOf(err) != sqlite3.SQLITE_ERROR {
		return err
	}
	return nil
}

func (w *fileWriter) exec(ctx context.Context, text string) error {
	_, err := w.conn.run(ctx, text, nil)
	return err
}

// codeOf returns the primary result code of SQLite, or SQLITE_OK for another error.
func codeOf(err error) int {
	if failed := (*fileError)(nil); errors.As(err, &failed) {
		return int(failed.code & 0xff)
	}
	if failed := (*sqlite.Error)(nil); errors.As(err, &failed) {
		return failed.Code() & 0xff
	}
	return sqlite3.SQLITE_OK
}

// abortsTransaction reports whether SQLite may have ended the transaction because of
// an error (sqlite.org/lang_transaction.html). The next statement would then run
// outside of the transaction.
func abortsTransaction(err error) bool {
	switch codeOf(err) {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_CORRUPT:
		return true
	}
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// lockPoll is the interval at which a writer tries to take the lock of a file.
// SQLite's own busy handler tries at intervals that grow to 100 ms, and rarely hits
// the few milliseconds for which a bulk import in another process releases the lock.
const lockPoll = time.Millisecond

// lockWait is how long a statement waits for the lock of a file: half of the time
// limit of its request, so that the guest can still answer.
func lockWait(timeout time.Duration) time.Duration { return timeout / 2 }

// retryWhileLocked calls do until it succeeds or fails for another reason than the
// lock of the file. It gives up when lockWait is over or no caller awaits the result.
func (w *fileWriter) retryWhileLocked(awaited func() bool, do func() error) error {
	for end := time.Now().Add(lockWait(w.maxTime)); ; time.Sleep(lockPoll) {
		err := do()
		if codeOf(err) != sqlite3.SQLITE_BUSY || time.Now().After(end) || !awaited() {
			return err
		}
	}
}
