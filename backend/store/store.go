package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"kith/backend/libsql"
	"kith/core"
)

// WriteWithoutForeignKeys runs do in one transaction as Write does, without foreign keys:
// rows may come before what they refer to, and go after it.
func (p *Primary) WriteWithoutForeignKeys(ctx context.Context, now core.Time, do func(*Tx) error) error {
	if err := p.retry(ctx, func() error { return p.transact(ctx, now, ignored, do) }); err != nil {
		return err
	}
	return p.Durable()
}

// Primary is the database that may say no: the embedded file or the primary
// libSQL server. It is safe for concurrent use.
type Primary struct {
	Reads
	write *sql.DB
	read  *sql.DB
	// timeouts are those of the connections of write and read.
	timeouts []*time.Duration
	// beginTimeout bounds how long a transaction may take to begin, and retryTime is
	// for how long one is run again though it was tried maxTries times.
	beginTimeout, retryTime time.Duration
	// embedded is true for a file.
	embedded bool
	// log is that of a file; nil for a server, which answers for itself.
	log *libsql.Log
}

// maxWriters is how many connections write to a server. It lets waiters in in no
// order, and each of them polls the lock there without a pause: a dozen, with
// those that had given up and come back, left a small server no time for the one
// that had it. Those of one process wait here, in their turn.
const maxWriters = 1

// beginTimeout bounds how long a transaction may take to begin, unless SetTimeout
// was called. It is not bound by the context of its caller: a connection that is
// given up goes on waiting at the server, and the next one beside it.
const beginTimeout = 20 * time.Second

// commitTimeout bounds how long a COMMIT may take.
const commitTimeout = time.Minute

// writerPragmas give the one writer of a file room for what an import changes,
// 16 MB each of pages and of log: with SQLite's 2 and 4 MB, a batch writes pages
// before it is done with them, and copies pages to the file that the next batch
// changes again. What a statement would need to be undone is kept in memory, not
// in a file: a batch is bounded.
var writerPragmas = []string{"cache_size(-16000)", "wal_autocheckpoint(4000)", "temp_store(MEMORY)"}

// maxReaders bounds the connections that read.
const maxReaders = 16

// Open opens a database by URL: "file:PATH" for an embedded file, which is made
// when it is not there, or libsql://, wss://, ws://, https://, http:// for a
// server, with its token or an empty one. Migrate must be called before
// anything else.
func Open(url, token string) (*Primary, error) {
	embedded := strings.HasPrefix(url, "file:")
	url = libsql.WithPragmas(url, "journal_mode(WAL)", "synchronous(NORMAL)", "busy_timeout(10000)", "foreign_keys(ON)")
	p := &Primary{beginTimeout: beginTimeout, embedded: embedded}
	open := p.openServer
	if embedded {
		open = p.openFile
	}
	if err := open(url, token); err != nil {
		return nil, fmt.Errorf("store: open: %w", err)
	}
	p.Reads = Reads{q: p.read}
	p.read.SetMaxOpenConns(maxReaders)
	p.read.SetMaxIdleConns(maxReaders)
	if embedded {
		// One writer at a time is SQLite's rule; queueing here is fairer and
		// faster than waiting for its lock.
		p.write.SetMaxOpenConns(1)
	} else {
		p.write.SetMaxOpenConns(maxWriters)
		p.write.SetMaxIdleConns(maxWriters)
		// A server or a proxy between may drop what lies idle.
		p.write.SetConnMaxIdleTime(30 * time.Second)
		p.read.SetConnMaxIdleTime(30 * time.Second)
	}
	return p, nil
}

func (p *Primary) openFile(url, token string) error {
	write, err := libsql.NewConnector(libsql.WithPragmas(url, writerPragmas...), token)
	if err != nil {
		return err
	}
	read, err := libsql.NewConnector(url, token)
	if err != nil {
		return err
	}
	p.timeouts = []*time.Duration{&write.Timeout, &read.Timeout}
	p.write, p.read = sql.OpenDB(preparingConnector{write, p}), sql.OpenDB(preparingConnector{read, p})
	p.log, err = libsql.NewLog(url)
	return err
}

func (p *Primary) openServer(url, token string) error {
	to, err := libsql.NewPipeline(url, token)
	if err != nil {
		return err
	}
	p.timeouts = []*time.Duration{&to.Timeout, &to.BeginTimeout}
	p.write, p.read = sql.OpenDB(to), sql.OpenDB(to)
	return nil
}

// SetTimeout sets how long a connection (5 s) and the beginning of a transaction
// (20 s) may take, and for how long at least a transaction is run again that the
// database gave up (5 times). It must be called before anything else. Tests, which
// wait as long as a slow machine needs, use it.
func (p *Primary) SetTimeout(d time.Duration) {
	p.beginTimeout, p.retryTime = d, d
	for _, timeout := range p.timeouts {
		*timeout = d
	}
}

// Embedded reports whether the database is a file, which has no replicas.
func (p *Primary) Embedded() bool { return p.embedded }

// Close waits for running statements and closes the database.
func (p *Primary) Close() error {
	err := errors.Join(p.write.Close(), p.read.Close())
	if p.embedded {
		err = errors.Join(err, p.log.Close())
	}
	return err
}

// Durable returns when what this process has committed would survive a power cut.
func (p *Primary) Durable() error {
	if p.log == nil {
		return nil
	}
	if err := p.log.Wait(); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}

// Ping reports whether the database answers. It asks it something, since the
// pool cannot ping: the driver's connections have no driver.Pinger.
func (p *Primary) Ping(ctx context.Context) error {
	var one int
	if err := p.read.QueryRowContext(ctx, "SELECT 1").Scan(&one); err != nil {
		return fmt.Errorf("store: ping: %w", err)
	}
	return nil
}

// querier is what *sql.DB and *sql.Conn have in common.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Reads reads: what a Primary shows, or in a Tx what decides.
type Reads struct {
	q querier
}

// NewReads reads by a querier, such as a *sql.DB.
func NewReads(q querier) Reads { return Reads{q} }

// QueryContext runs a statement that reads.
func (r Reads) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return r.q.QueryContext(ctx, query, args...)
}

// QueryRowContext runs a statement that reads one row.
func (r Reads) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return r.q.QueryRowContext(ctx, query, args...)
}

// Tx is one write transaction. It holds the write lock from its start, so what
// it reads stays true until it commits.
type Tx struct {
	Reads
	// Now is the one time of the transaction.
	Now core.Time
	// Silent is true when no webhook is to tell of what the transaction does.
	Silent bool
	// embedded is true on a file.
	Embedded bool
}

// Write runs do in one transaction and commits it when do returns nil; then it is
// on the disk. Nothing of a transaction that failed remains; only when the
// connection to a server breaks during the commit itself, or the disk fails, can
// nobody tell which of the two it was, and the error is returned.
//
// A transaction that the database gave up under contention is run again, a few
// times, so do must have no effects but those of its transaction and must set
// its results anew.
func (p *Primary) Write(ctx context.Context, now core.Time, do func(*Tx) error) error {
	if err := p.WriteUnsynced(ctx, now, do); err != nil {
		return err
	}
	// The next writer need not wait for this: its connection is free.
	return p.Durable()
}

// WriteUnsynced is Write, but for the disk: a power cut may undo the transaction,
// with all that came after it, until Durable has returned.
func (p *Primary) WriteUnsynced(ctx context.Context, now core.Time, do func(*Tx) error) error {
	return p.retry(ctx, func() error { return p.transact(ctx, now, enforced, do) })
}

// retry runs a transaction, and anew while the database gives it up.
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

// retriesExhausted reports whether nothing more is tried that the database gave up.
func (p *Primary) retriesExhausted(try int, began time.Time) bool {
	return try >= maxTries && time.Since(began) >= p.retryTime
}

const (
	// maxTries and retryPause bound how a transaction is run again: each try
	// waited for the write lock already.
	maxTries   = 5
	retryPause = 20 * time.Millisecond
)

// locked is what the database says when others were writing for too long.
const locked = "database is locked"

// retryable reports whether the database ended a transaction because of others,
// with nothing of it kept. The driver passes the server's texts on and nothing
// else.
func retryable(err error) bool {
	if err == nil {
		return false
	}
	text := err.Error()
	// A server that does not answer in time would not answer the next time either.
	silent := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
	return errors.Is(err, ErrTaken) || errors.Is(err, libsql.ErrNotCommitted) && !silent || strings.Contains(text, locked) || strings.Contains(text, "Transaction timed out")
}

// WriteOne runs one statement that writes, outside of a transaction and never twice
// when its answer is lost. It is run again while another process holds the write
// lock. Then it is on the disk.
func (p *Primary) WriteOne(ctx context.Context, run func(Reads) error) error {
	// Not by the pool, which repeats a statement whose answer it did not get.
	conn, err := p.writeConn(ctx, "SELECT 1")
	if err != nil {
		return fmt.Errorf("store: begin: %w", err)
	}
	err = p.retryLocked(ctx, func() error { return run(Reads{conn}) })
	if err := errors.Join(err, conn.Close()); err != nil {
		return err
	}
	// Also when it changed nothing: what it found must not be lost.
	return p.Durable()
}

// retryLocked runs a statement again while another process holds the write lock.
func (p *Primary) retryLocked(ctx context.Context, run func() error) error {
	began := time.Now()
	for try := 1; ; try++ {
		err := run()
		if err == nil || !strings.Contains(err.Error(), locked) || p.retriesExhausted(try, began) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(rand.N(time.Duration(try) * retryPause)): // #nosec G404 -- it spreads retries
		}
	}
}

// foreignKeys says whether a transaction keeps foreign keys.
type foreignKeys bool

const enforced, ignored foreignKeys = true, false

func (p *Primary) transact(ctx context.Context, now core.Time, keys foreignKeys, do func(*Tx) error) error {
	first := beginWrite
	if keys == ignored {
		// Within a transaction it would have no effect.
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
	return &Tx{Reads: Reads{q: conn}, Now: now, Embedded: p.embedded}
}

// runAndCommit commits what do did when that returns nil; otherwise nothing remains.
func (p *Primary) runAndCommit(ctx context.Context, conn *sql.Conn, tx *Tx, do func(*Tx) error) error {
	committed := false
	defer func() {
		if !committed {
			rollback(ctx, conn)
		}
	}()
	if err := do(tx); err != nil {
		return err
	}
	if err := commit(ctx, conn); err != nil {
		return fmt.Errorf("store: commit: %w", err)
	}
	committed = true
	return nil
}

// commit commits a transaction unless its caller has given it up. A COMMIT that was
// sent is not interrupted: a server may run it though its answer is not awaited.
func commit(ctx context.Context, conn *sql.Conn) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	_, err := conn.ExecContext(ctx, "COMMIT")
	return err
}

// restoreForeignKeys has a connection keep foreign keys; one that cannot is thrown away,
// since others get it next.
func restoreForeignKeys(ctx context.Context, conn *sql.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if _, err := conn.ExecContext(ctx, "PRAGMA foreign_keys = ON"); err != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
}

// writeConn returns a connection for a write; see alive.
func (p *Primary) writeConn(ctx context.Context, first string) (*sql.Conn, error) {
	return p.liveConn(ctx, p.write, maxWriters, first)
}

// liveConn returns a connection of a pool that has just run a statement, one that
// does no harm when it is run twice. A server that restarted leaves the pool
// full of connections that are dead and do not know it; they are dropped here.
// Whatever is run next must not be repeated on another connection, as the pool
// itself would do: when a connection breaks, the server may have run the
// statement.
func (p *Primary) liveConn(ctx context.Context, pool *sql.DB, most int, first string) (conn *sql.Conn, err error) {
	// One try for each connection of the pool, and one for a new one.
	for range most + 1 {
		conn, err = pool.Conn(ctx)
		if err != nil {
			return nil, err
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
	patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.beginTimeout)
	defer cancel()
	_, err := conn.ExecContext(patient, first)
	if err == nil && ctx.Err() != nil {
		if strings.HasPrefix(first, "BEGIN") {
			rollback(ctx, conn)
		}
		err = ctx.Err()
	}
	return err
}

// beginWrite begins a transaction with the write lock: deferred ones take it at
// their first write, when what they have read may no longer be true.
const beginWrite = "BEGIN IMMEDIATE"

// rollback ends a transaction also when its context is over; a connection that
// cannot even roll back is thrown away.
func rollback(ctx context.Context, conn *sql.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if _, err := conn.ExecContext(ctx, "ROLLBACK"); err != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
}

// NullTime stores zero as NULL.
func NullTime(t core.Time) any {
	if t == 0 {
		return nil
	}
	return int64(t)
}

// NullText stores "" as NULL.
func NullText[S ~string](s S) any {
	if s == "" {
		return nil
	}
	return string(s)
}

// ErrTaken says that a code that was drawn at random belongs to another user. The
// transaction is run anew, with other codes.
var ErrTaken = errors.New("store: a new code was taken")
