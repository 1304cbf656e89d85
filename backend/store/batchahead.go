package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"kith/core"
)

// WriteBatch is WriteBehind with a batch of a tenant, see Tx.Batch, which do has to
// end. With wait, what is read for a batch on a file, and calls that come before
// anything is to be written, go before the write lock is taken, of which others have
// more so; when one of them has written meanwhile, all that is done again under the
// lock. Right before it is taken, wait is called.
func (p *Primary) WriteBatch(ctx context.Context, now core.Time, tenant core.TenantAlias, about About, wait func(), do func(*Tx) error) error {
	batch := func(tx *Tx) error {
		if err := tx.Batch(ctx, tenant, about); err != nil {
			return err
		}
		return do(tx)
	}
	return p.untilKept(ctx, func() error {
		if wait != nil && p.embedded {
			if err := p.transactAhead(ctx, now, wait, batch); !errors.Is(err, errStale) {
				return err
			}
		}
		return p.transact(ctx, now, checked, batch)
	})
}

// errStale says that what was read before the lock was taken may not be true.
var errStale = errors.New("store: somebody wrote before the lock was taken")

// lock is the write lock of a transaction, which may take it when it has read
// already.
type lock struct {
	db    *Primary
	taken bool
	wait  func()
	conn  *sql.Conn
	// version is the data version when the first was read.
	version int64
}

func (p *Primary) transactAhead(ctx context.Context, now core.Time, wait func(), do func(*Tx) error) error {
	conn, err := p.write.Conn(ctx)
	if err != nil {
		return fmt.Errorf("store: begin: %w", err)
	}
	defer conn.Close()
	l := &lock{db: p, conn: conn, wait: wait}
	if l.version, err = dataVersion(ctx, conn); err != nil {
		return err
	}
	tx := p.newTx(conn, now)
	tx.lock = l
	return p.keep(ctx, conn, l, tx, do)
}

// take takes the lock, unless that was done.
func (l *lock) take(ctx context.Context) error {
	if l == nil || l.taken {
		return nil
	}
	l.wait()
	if err := l.db.begin(ctx, l.conn, beginWrite); err != nil {
		return fmt.Errorf("store: begin: %w", err)
	}
	l.taken = true
	now, err := dataVersion(ctx, l.conn)
	if err == nil && now != l.version {
		err = errStale
	}
	return err
}
