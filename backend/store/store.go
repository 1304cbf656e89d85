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
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"kith/backend/libsql"
)

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
	p.server.Watch(timeout, log)
	return nil
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
