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
	return p.synced(ctx, p.WriteUnsynced(ctx, now, do))
}

// synced waits for the disk after a write without an error, and records its time. The
// connection is free by now: the next writer need not wait for the disk.
func (p *Primary) synced(ctx context.Context, err error) error {
	if err == nil {
		err = p.flush(ctx)
	}
	if err == nil {
		p.wrote.Store(time.Now().UnixNano())
	}
	return err
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
	return p.retry(ctx, retryable, func() error { return p.transact(ctx, now, enforced, do) })
}

// WriteWithoutForeignKeys runs do in one transaction, as Write does, but does not
// enforce foreign keys: rows may be inserted before the rows that they refer to,
// and deleted after them.
func (p *Primary) WriteWithoutForeignKeys(ctx context.Context, now core.Time, do func(*Tx) error) error {
	return p.synced(ctx, p.retry(ctx, retryable, func() error { return p.transact(ctx, now, ignored, do) }))
}

// retry calls run, and calls it again while again reports that of its error.
func (p *Primary) retry(ctx context.Context, again func(error) bool, run func() error) error {
	began := time.Now()
	for try := 1; ; try++ {
		err := run()
		exhausted := try >= maxTries && (time.Since(began) >= p.retryTime || errors.Is(err, ErrTaken))
		if err == nil || !again(err) || exhausted {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(rand.N(time.Duration(try) * retryPause)): // #nosec G404 -- it spreads retries
		}
	}
}

const (
	// maxTries and retryPause limit the retries of a transaction: each try has
	// already waited for the write lock.
	maxTries   = 5
	retryPause = 20 * time.Millisecond
)

// commitTimeout limits how long a COMMIT may take.
const commitTimeout = time.Minute

// ErrTaken is returned in a transaction when a code that was generated at random
// already belongs to another user. Write runs the transaction again, which
// generates other codes.
var ErrTaken = errors.New("store: a new code was taken")

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
	var tried time.Time
	err = p.retry(ctx, func(err error) bool {
		return !p.lockHeld(ctx, tried, err) && strings.Contains(err.Error(), locked)
	}, func() error {
		tried = time.Now()
		return run(Reads{conn})
	})
	// Also if the statement changed nothing: the row that it found must not be lost.
	return p.synced(ctx, errors.Join(err, conn.Close()))
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
		defer restore(ctx, conn, "PRAGMA foreign_keys = ON")
		if _, err := conn.ExecContext(ctx, beginWrite); err != nil {
			return fmt.Errorf("store: begin: %w", err)
		}
	}
	return runAndCommit(ctx, conn, &Tx{Reads: Reads{q: conn}, Now: now, Embedded: p.Embedded()}, do)
}

// runAndCommit runs do in a transaction that has begun. It commits if do returns
// nil, else it rolls back.
func runAndCommit(ctx context.Context, conn *sql.Conn, tx *Tx, do func(*Tx) error) error {
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

// liveConn returns a connection of a pool on which it has just run first, a
// statement that may safely run twice. When a server restarts, the pool is left
// full of dead connections; liveConn drops them. The statements that follow must
// not be repeated on another connection, as the pool itself would do: when a
// connection breaks, the server may have run the statement.
func (p *Primary) liveConn(ctx context.Context, pool *sql.DB, first string) (conn *sql.Conn, err error) {
	// One try for each connection of the pool, and one for a new one.
	for range pool.Stats().MaxOpenConnections + 1 {
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

// rollback ends a transaction.
func rollback(ctx context.Context, conn *sql.Conn) { restore(ctx, conn, "ROLLBACK") }

// restore runs a statement after which a connection may be used again, even if ctx has
// ended. If it fails, the connection is closed, so that no other transaction gets it.
func restore(ctx context.Context, conn *sql.Conn, statement string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if _, err := conn.ExecContext(ctx, statement); err != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
}
