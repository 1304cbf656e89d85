// Package store connects to the database: an embedded SQLite file or a libSQL
// server. It runs transactions, migrations and snapshots, and has the helpers
// that the packages below it build statements with. Each of those packages
// (userdb, referraldb, rewarddb and so on) has the SQL of one subject; package
// unit combines them into a unit of work.
//
// The store makes no business decisions: rules are in core, use cases in
// backend/app. A read that decides a write runs in the transaction of that
// write. Reads for display use the Primary directly.
package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"kith/backend/libsql"
	"kith/core"
)

// WriteWithoutForeignKeys runs do in one transaction, as Write does, but does not
// enforce foreign keys: rows may be inserted before the rows that they refer to,
// and deleted after them.
func (p *Primary) WriteWithoutForeignKeys(ctx context.Context, now core.Time, do func(*Tx) error) error {
	if err := p.retry(ctx, func() error { return p.transact(ctx, now, ignored, do) }); err != nil {
		return err
	}
	return p.flush(ctx)
}

// Primary is the database that accepts writes: an embedded file or the primary
// libSQL server. Open returns one. It is safe for concurrent use.
type Primary struct {
	Reads
	// Lists runs the statements of lists and searches, of which some read thousands of
	// rows. It runs few at a time; the others wait, and any of them is next.
	Lists Reads
	// Version is the version of kith, which is stored with each migration that it applies.
	Version string
	// Observe, if not nil, is called when a statement or a wait begins, and what it returns
	// when it has ended, unless that is nil. A statement has a text, without its values; a
	// wait for a connection or for the disk has a name. It is set before any other method is
	// called.
	Observe func(ctx context.Context, wait, text string) (end func(error))

	write *sql.DB
	read  *sql.DB
	list  *sql.DB
	// beginTimeout limits how long a transaction may take to begin. For retryTime,
	// a transaction is retried even after maxTries tries.
	beginTimeout, retryTime time.Duration
	// server makes the connections to a server; nil for a file.
	server *libsql.Pipeline
	// log is the write-ahead log of a file; nil for a server, which syncs its own.
	log *libsql.Log
	// lock is nil for a server, and until Watch is called.
	lock *fileLock
	// wrote is when a write of this process last succeeded, and full when one last failed
	// because the disk is full, in nanoseconds of the Unix time.
	wrote, full atomic.Int64
}

// maxWriters is how many connections write. SQLite allows one writer at a time. A
// server queues writers unfairly, and each waiting connection polls the lock without a
// pause: a dozen of them, with their retries, left a small server no time for the writer
// that had the lock. The writers of one process queue in the pool instead, in order.
const maxWriters = 1

// beginTimeout limits how long a transaction may take to begin, unless SetTimeout
// was called. The caller's context does not limit it: an abandoned connection
// would continue to wait at the server, and the next one would wait beside it.
const beginTimeout = 20 * time.Second

// commitTimeout limits how long a COMMIT may take.
const commitTimeout = time.Minute

// writerPragmas give the one writer of a file enough memory for the changes of an
// import: 16 MB of page cache and 16 MB of write-ahead log. With SQLite's defaults
// of 2 and 4 MB, a batch writes pages before it has finished with them, and
// checkpoints pages that the next batch changes again. The rollback data of a
// statement is kept in memory, not in a file: a batch has a limited size.
var writerPragmas = []string{"cache_size(-16000)", "wal_autocheckpoint(4000)", "temp_store(MEMORY)", fmt.Sprintf("busy_timeout(%d)", lockWait.Milliseconds())}

// maxReaders limits the connections that read.
const maxReaders = 16

// maxLists returns how many statements of lists run at a time. On a file they compute in
// this process, so that half of the processors are left to share links and to all other
// calls.
func maxLists(embedded bool) int {
	if embedded {
		return max(1, runtime.GOMAXPROCS(0)/2)
	}
	return maxReaders / 4
}

// Open opens a database by its URL: "file:PATH" for an embedded file, which is
// created if it does not exist, or libsql://, wss://, ws://, https:// or http://
// for a server. The token authenticates to a server; it may be empty. The caller
// must call Migrate before using the database, and Close after.
func Open(url, token string) (*Primary, error) {
	p := &Primary{beginTimeout: beginTimeout}
	var write, read driver.Connector
	var err error
	if strings.HasPrefix(url, "file:") {
		write, read, err = p.openFile(url)
	} else {
		p.server, err = libsql.NewPipeline(url, token)
		write, read = p.server, p.server
	}
	if err != nil {
		return nil, fmt.Errorf("store: open: %w", err)
	}
	p.write, p.read, p.list = p.pool(write, maxWriters), p.pool(read, maxReaders), p.pool(read, maxLists(p.Embedded()))
	p.Reads, p.Lists = Reads{q: p.read}, Reads{q: p.list}
	return p, nil
}

func (p *Primary) openFile(url string) (write, read driver.Connector, err error) {
	url = libsql.WithPragmas(url, "journal_mode(WAL)", "synchronous(NORMAL)", "foreign_keys(ON)")
	writer, err := libsql.NewConnector(libsql.WithPragmas(url, writerPragmas...))
	if err != nil {
		return nil, nil, err
	}
	reader, err := libsql.NewConnector(libsql.WithPragmas(url, "busy_timeout(10000)"))
	if err != nil {
		return nil, nil, err
	}
	p.log, err = libsql.NewLog(url)
	return preparingConnector{writer, p}, preparingConnector{reader, p}, err
}

// pool returns a pool of at most so many connections.
func (p *Primary) pool(c driver.Connector, most int) *sql.DB {
	pool := sql.OpenDB(markingConnector{c, p})
	pool.SetMaxOpenConns(most)
	pool.SetMaxIdleConns(most)
	if !p.Embedded() {
		// The server, or a proxy in between, may drop idle connections.
		pool.SetConnMaxIdleTime(30 * time.Second)
	}
	return pool
}

// SetTimeout sets how long connecting to a server may take (default 5 s), how long a
// transaction may take to begin (default 20 s), and for how long at least a
// transaction that the database aborted is retried (default: until it was tried 5
// times). It must be called before any other method. Tests call it, because a slow
// machine may need longer.
func (p *Primary) SetTimeout(d time.Duration) {
	p.beginTimeout, p.retryTime = d, d
	if p.server != nil {
		p.server.Timeout, p.server.BeginTimeout = d, d
	}
}

// Watch makes all calls fail with libsql.ErrAway while the database server hangs; see
// libsql.Pipeline.Watch. On a file it makes writes fail with libsql.ErrRefused while
// another process holds the lock for too long, as one does that is paused, and with
// libsql.ErrFileLost from when the file, its log or the locks of this process are lost;
// it returns that error if they are lost already. No other method may run meanwhile.
func (p *Primary) Watch(timeout time.Duration, log *slog.Logger) error {
	if p.Embedded() {
		p.lock = newFileLock(log)
		return p.log.Watch(log)
	}
	return p.server.Watch(timeout, log)
}

// Away reports whether calls fail at once, because the database server hangs, or writes,
// because another process holds the lock of the file.
func (p *Primary) Away() bool {
	if p.lock != nil {
		return p.lock.breaker.IsOpen()
	}
	return p.server != nil && p.server.Away()
}

// Embedded reports whether the database is a file. A file has no replicas.
func (p *Primary) Embedded() bool { return p.server == nil }

// Close waits for running statements to end and closes the database.
func (p *Primary) Close() error {
	if p.lock != nil {
		p.lock.close()
	}
	err := errors.Join(p.write.Close(), p.read.Close(), p.list.Close())
	if p.server != nil {
		return errors.Join(err, p.server.Close())
	}
	return errors.Join(err, p.log.Close())
}

// Durable waits until all transactions that this process has committed would
// survive a power failure. It returns at once for a server.
func (p *Primary) Durable() error {
	if p.log == nil {
		return nil
	}
	if err := p.log.Wait(); err != nil {
		// The disk failed, or is full, or the file was lost.
		return fmt.Errorf("store: %w", unavailable{err})
	}
	return nil
}

// written records the time of a write that succeeded, if err is nil.
func (p *Primary) written(err error) error {
	if err == nil {
		p.wrote.Store(time.Now().UnixNano())
	}
	return err
}

// Ping returns an error if the database does not answer a query. It runs a query
// because the driver's connections do not implement driver.Pinger.
func (p *Primary) Ping(ctx context.Context) error {
	_, err := One[int](ctx, p.Reads, "ping", "SELECT 1")
	return err
}

// querier is what *sql.DB and *sql.Conn have in common.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Reads runs statements that read: outside a transaction for a Primary, inside it
// for a Tx. The read functions of the packages below store take one.
type Reads struct {
	q querier
}

// NewReads returns Reads that use q, such as a *sql.DB. Tests use it.
func NewReads(q querier) Reads { return Reads{q} }

// QueryContext runs a statement that reads rows.
func (r Reads) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return r.q.QueryContext(ctx, query, args...)
}

// QueryRowContext runs a statement that reads one row.
func (r Reads) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return r.q.QueryRowContext(ctx, query, args...)
}

// Tx is a write transaction. It has the write lock from its start, so no other
// transaction changes what it has read until it commits.
type Tx struct {
	Reads
	// Now is the time of the transaction: the same for all of its statements.
	Now core.Time
	// Silent is true if the transaction must not emit webhook events.
	Silent bool
	// Embedded is true if the database is a file.
	Embedded bool
	value    any
}

// Value returns the value that the function of WriteValue returned, to a companion; nil if
// the transaction has none.
func (tx *Tx) Value() any { return tx.value }

// Write runs do in one transaction and commits it if do returns nil. When Write
// returns nil, the transaction is on disk. When it returns an error, the
// transaction was rolled back, with one exception: if the connection to a server
// breaks during the commit, or the disk fails, the outcome is unknown.
//
// If the database aborts the transaction because of contention, Write retries it a
// few times. So do must have no effects outside its transaction; a result of it is
// returned by WriteValue.
func (p *Primary) Write(ctx context.Context, now core.Time, do func(*Tx) error) error {
	if err := p.WriteUnsynced(ctx, now, do); err != nil {
		return err
	}
	// The connection is free by now: the next writer need not wait for the disk.
	return p.written(p.flush(ctx))
}

// WriteValue runs do by write, which is Write, WriteUnsynced or WriteWithoutForeignKeys of a
// Primary, and returns what do returned when its transaction was committed. If the error is
// not nil, the value is zero.
func WriteValue[T any](ctx context.Context, write func(context.Context, core.Time, func(*Tx) error) error, now core.Time, do func(*Tx) (T, error)) (T, error) {
	var value, none T
	err := write(ctx, now, func(tx *Tx) (err error) {
		value, err = do(tx)
		tx.value = value
		return err
	})
	if err != nil {
		return none, err
	}
	return value, nil
}

// WriteUnsynced is like Write but does not wait for the disk: until Durable has
// returned, a power failure may undo the transaction and all later ones.
func (p *Primary) WriteUnsynced(ctx context.Context, now core.Time, do func(*Tx) error) error {
	return p.retry(ctx, func() error { return p.transact(ctx, now, enforced, do) })
}

// retry runs a transaction, and runs it again while the database aborts it.
func (p *Primary) retry(ctx context.Context, transact func() error) error {
	began := time.Now()
	for try := 1; ; try++ {
		err := transact()
		if err == nil || !retryable(err) || p.retriesExhausted(try, began) || errors.Is(err, ErrTaken) && try >= maxTries {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(rand.N(time.Duration(try) * retryPause)): // #nosec G404 -- it spreads retries
		}
	}
}

// retriesExhausted reports whether an aborted transaction is not tried again.
func (p *Primary) retriesExhausted(try int, began time.Time) bool {
	return try >= maxTries && time.Since(began) >= p.retryTime
}

const (
	// maxTries and retryPause limit the retries of a transaction: each try has
	// already waited for the write lock.
	maxTries   = 5
	retryPause = 20 * time.Millisecond
)

// locked is in the error of the database when waiting for the write lock took too
// long.
const locked = "database is locked"

// retryable reports whether the database rolled a transaction back because of
// contention. It compares texts because the driver passes nothing else on from
// the server.
func retryable(err error) bool {
	if err == nil || errors.Is(err, libsql.ErrRefused) {
		return false
	}
	text := err.Error()
	// A server that did not answer in time would not answer the next try either.
	silent := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.Is(err, libsql.ErrAway)
	return errors.Is(err, ErrTaken) || errors.Is(err, libsql.ErrNotCommitted) && !silent || strings.Contains(text, locked) || strings.Contains(text, "Transaction timed out")
}

// WriteOne runs one statement that writes, outside a transaction. It does not
// repeat the statement if the response is lost, but retries it while another
// process has the write lock. When WriteOne returns nil, the write is on disk.
func (p *Primary) WriteOne(ctx context.Context, run func(Reads) error) error {
	// The pool itself would repeat a statement whose response was lost.
	conn, err := p.writeConn(ctx, "SELECT 1")
	if err != nil {
		return fmt.Errorf("store: begin: %w", err)
	}
	err = p.retryLocked(ctx, func() error { return run(Reads{conn}) })
	if err := errors.Join(err, conn.Close()); err != nil {
		return err
	}
	// Also if the statement changed nothing: the row that it found must not be lost.
	return p.written(p.flush(ctx))
}

// retryLocked runs a statement, and runs it again while another process has the
// write lock.
func (p *Primary) retryLocked(ctx context.Context, run func() error) error {
	began := time.Now()
	for try := 1; ; try++ {
		tried := time.Now()
		err := run()
		if err == nil || p.lockHeld(ctx, tried, err) || !strings.Contains(err.Error(), locked) || p.retriesExhausted(try, began) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(rand.N(time.Duration(try) * retryPause)): // #nosec G404 -- it spreads retries
		}
	}
}

// foreignKeys says whether a transaction enforces foreign keys.
type foreignKeys bool

const enforced, ignored foreignKeys = true, false

func (p *Primary) transact(ctx context.Context, now core.Time, keys foreignKeys, do func(*Tx) error) error {
	first := beginWrite
	if keys == ignored {
		// Inside a transaction it would have no effect.
		first = "PRAGMA foreign_keys = OFF"
	}
	conn, err := p.writeConn(ctx, first)
	if err != nil {
		return fmt.Errorf("store: begin: %w", err)
	}
	defer conn.Close()
	if keys == ignored {
		defer restoreForeignKeys(ctx, conn)
		if _, err := conn.ExecContext(ctx, beginWrite); err != nil {
			return fmt.Errorf("store: begin: %w", err)
		}
	}
	return p.runAndCommit(ctx, conn, p.newTx(conn, now), do)
}

func (p *Primary) newTx(conn *sql.Conn, now core.Time) *Tx {
	return &Tx{Reads: Reads{q: conn}, Now: now, Embedded: p.Embedded()}
}

// runAndCommit runs do in a transaction that has begun. It commits if do returns
// nil, else it rolls back.
func (p *Primary) runAndCommit(ctx context.Context, conn *sql.Conn, tx *Tx, do func(*Tx) error) error {
	committed := false
	defer func() {
		if !committed {
			rollback(ctx, conn)
		}
	}()
	also := companionOf(ctx)
	if err := do(tx); err != nil {
		return err
	}
	if err := also.run(ctx, tx); err != nil {
		return err
	}
	if err := commit(ctx, conn); err != nil {
		return fmt.Errorf("store: commit: %w", err)
	}
	committed = true
	also.commit()
	return nil
}

// commit commits a transaction unless ctx has ended. Once sent, a COMMIT is not
// interrupted: the server may run it even if the caller no longer waits.
func commit(ctx context.Context, conn *sql.Conn) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	_, err := conn.ExecContext(ctx, "COMMIT")
	return err
}

// restoreForeignKeys makes a connection enforce foreign keys again. If that fails,
// the connection is closed, so that no other transaction gets it.
func restoreForeignKeys(ctx context.Context, conn *sql.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if _, err := conn.ExecContext(ctx, "PRAGMA foreign_keys = ON"); err != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
}

// liveConn returns a connection of a pool on which it has just run first, a
// statement that may safely run twice. When a server restarts, the pool is left
// full of dead connections; liveConn drops them. The statements that follow must
// not be repeated on another connection, as the pool itself would do: when a
// connection breaks, the server may have run the statement.
func (p *Primary) liveConn(ctx context.Context, pool *sql.DB, most int, first string) (conn *sql.Conn, err error) {
	// One try for each connection of the pool, and one for a new one.
	for range most + 1 {
		end := p.begun(ctx, "wait for a connection", "")
		conn, err = pool.Conn(ctx)
		end(err)
		if err != nil {
			return nil, p.mark(err)
		}
		if err = p.begin(ctx, conn, first); err == nil {
			return conn, nil
		}
		_ = conn.Close()
		if !errors.Is(err, driver.ErrBadConn) {
			break
		}
	}
	return nil, err
}

// begin runs the first statement on a connection.
func (p *Primary) begin(ctx context.Context, conn *sql.Conn, first string) error {
	beginCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.beginTimeout)
	defer cancel()
	// A writer may get the connection just when the writer before it has opened the breaker.
	if p.lock != nil && first == beginWrite && ctx != p.lock.ended {
		if _, err := p.lock.breaker.Admit(); err != nil {
			return unavailable{err}
		}
	}
	began := time.Now()
	_, err := conn.ExecContext(beginCtx, first)
	p.lockHeld(ctx, began, err)
	if err == nil && ctx.Err() != nil {
		if strings.HasPrefix(first, "BEGIN") {
			rollback(ctx, conn)
		}
		err = ctx.Err()
	}
	return err
}

// beginWrite begins a transaction with the write lock. A deferred transaction
// would take the lock at its first write, when its earlier reads may be outdated.
const beginWrite = "BEGIN IMMEDIATE"

// rollback ends a transaction, even if its context has ended. If that fails, the
// connection is closed.
func rollback(ctx context.Context, conn *sql.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if _, err := conn.ExecContext(ctx, "ROLLBACK"); err != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
}

// NullTime returns t as a parameter of a statement: zero is NULL.
func NullTime(t core.Time) any {
	if t == 0 {
		return nil
	}
	return int64(t)
}

// NullText returns s as a parameter of a statement: "" is NULL.
func NullText[S ~string](s S) any {
	if s == "" {
		return nil
	}
	return string(s)
}

// ErrTaken is returned in a transaction when a code that was generated at random
// already belongs to another user. Write runs the transaction again, which
// generates other codes.
var ErrTaken = errors.New("store: a new code was taken")
