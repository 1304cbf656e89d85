// Package store remembers: it holds all SQL of the backend, and its migrations.
// It decides nothing; rules are in core, use cases in backend/program.
//
// A read that decides a write is made on the transaction that writes. Reads for
// display use the Primary directly.
package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tursodatabase/libsql-client-go/libsql"
	_ "modernc.org/sqlite" // libsql-client-go opens file: URLs with it

	"kith/core"
)

// Primary is the database that may say no: the embedded file or the primary
// libSQL server. It is safe for concurrent use.
type Primary struct {
	Reads
	write *sql.DB
	read  *sql.DB
}

// maxWriters bounds the connections that write to a server.
const maxWriters = 8

// Open opens a database by URL: "file:PATH" for an embedded file, which is made
// when it is not there, or libsql://, wss://, ws://, https://, http:// for a
// server, with its token or an empty one. Migrate must be called before
// anything else.
func Open(url, token string) (*Primary, error) {
	embedded := strings.HasPrefix(url, "file:")
	if embedded {
		url += separator(url) + "_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)" +
			"&_pragma=busy_timeout(10000)&_pragma=foreign_keys(ON)"
	}
	var options []libsql.Option
	if token != "" {
		options = append(options, libsql.WithAuthToken(token))
	}
	connector, err := libsql.NewConnector(url, options...)
	if err != nil {
		return nil, fmt.Errorf("store: open: %w", err)
	}
	p := &Primary{write: sql.OpenDB(connector), read: sql.OpenDB(connector)}
	p.Reads = Reads{p.read}
	p.read.SetMaxOpenConns(16)
	p.read.SetMaxIdleConns(16)
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

func separator(url string) string {
	if strings.Contains(url, "?") {
		return "&"
	}
	return "?"
}

// Close waits for running statements and closes the database.
func (p *Primary) Close() error { return errors.Join(p.write.Close(), p.read.Close()) }

// Ping reports whether the database answers.
func (p *Primary) Ping(ctx context.Context) error { return p.read.PingContext(ctx) }

// querier is what *sql.DB and *sql.Conn have in common.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Reads has the read methods, for display on Primary and for decisions on Tx.
type Reads struct{ q querier }

// Tx is one write transaction. It holds the write lock from its start, so what
// it reads stays true until it commits.
type Tx struct {
	Reads
	// Now is the one time of the transaction.
	Now core.Time
}

// Write runs do in one transaction and commits it when do returns nil. Nothing
// of a transaction that failed remains; only when the connection to a server
// breaks during the commit itself can nobody tell which of the two it was, and
// the error is returned.
func (p *Primary) Write(ctx context.Context, now core.Time, do func(*Tx) error) (err error) {
	// Deferred transactions take the lock at their first write, when what they
	// have read may no longer be true.
	conn, err := p.writer(ctx, "BEGIN IMMEDIATE")
	if err != nil {
		return fmt.Errorf("store: begin: %w", err)
	}
	defer conn.Close()
	committed := false
	defer func() {
		if !committed {
			rollback(ctx, conn)
		}
	}()
	if err := do(&Tx{Reads: Reads{conn}, Now: now}); err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, "COMMIT"); err != nil {
		return fmt.Errorf("store: commit: %w", err)
	}
	committed = true
	return nil
}

// writer returns a connection that has just run a statement, one that does no
// harm when it is run twice. A server that restarted leaves the pool full of
// connections that are dead and do not know it; they are dropped here. Whatever
// is run next must not be repeated on another connection, as the pool itself
// would do: when a connection breaks, the server may have run the statement.
func (p *Primary) writer(ctx context.Context, first string) (conn *sql.Conn, err error) {
	// One try for each connection of the pool, and one for a new one.
	for range maxWriters + 1 {
		conn, err = p.write.Conn(ctx)
		if err != nil {
			return nil, err
		}
		if _, err = conn.ExecContext(ctx, first); err == nil {
			return conn, nil
		}
		_ = conn.Close()
		if !errors.Is(err, driver.ErrBadConn) {
			break
		}
	}
	return nil, err
}

// rollback ends a transaction also when its context is over; a connection that
// cannot even roll back is thrown away.
func rollback(ctx context.Context, conn *sql.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if _, err := conn.ExecContext(ctx, "ROLLBACK"); err != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
}

// nullTime stores zero as NULL.
func nullTime(t core.Time) any {
	if t == 0 {
		return nil
	}
	return int64(t)
}

// nullText stores "" as NULL.
func nullText[S ~string](s S) any {
	if s == "" {
		return nil
	}
	return string(s)
}
