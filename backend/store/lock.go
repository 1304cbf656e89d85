package store

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"kith/backend/libsql"
)

const (
	// lockWait is how long a write waits for the lock of a file that another process holds;
	// the writers of this process queue before that. A process that works holds it for
	// milliseconds, one that is paused holds it until it resumes.
	lockWait = 5 * time.Second
	// leastLockWait is the shortest wait for the lock after which it counts as held: a
	// caller with a time limit may have spent it in the queue.
	leastLockWait = time.Second
	// lockPause is the time between two tries to get a lock that was held for too long.
	lockPause = 250 * time.Millisecond
)

// fileLock is the state of the lock of a file.
type fileLock struct {
	// breaker is open while another process has held the lock for too long.
	breaker *libsql.Breaker
	probes  sync.WaitGroup
	// ended is done when the database is closed.
	ended context.Context
	end   context.CancelFunc
}

func newFileLock(log *slog.Logger) *fileLock {
	l := &fileLock{breaker: libsql.NewBreaker(log)}
	l.ended, l.end = context.WithCancel(context.Background())
	return l
}

func (l *fileLock) close() {
	l.end()
	l.probes.Wait()
}

// writeConn returns a connection for a write, on which first has run; see liveConn. While
// another process holds the lock of the file for too long, and when the file was lost, it
// fails at once.
func (p *Primary) writeConn(ctx context.Context, first string) (*sql.Conn, error) {
	if err := p.fileLost(); err != nil {
		return nil, err
	}
	if p.lock == nil {
		return p.liveConn(ctx, p.write, first)
	}
	waiting, end := p.lock.breaker.WhileClosed(ctx)
	defer end()
	conn, err := p.liveConn(waiting, p.write, first)
	if err != nil && ctx.Err() == nil && waiting.Err() != nil {
		if _, refused := p.lock.breaker.Admit(); refused != nil {
			err = refused
		}
		err = unavailable{err}
	}
	return conn, err
}

// fileLost returns libsql.ErrFileLost if the file was lost.
func (p *Primary) fileLost() error {
	if p.log == nil || p.log.Err() == nil {
		return nil
	}
	return unavailable{p.log.Err()}
}

// lockHeld reports whether a statement that began at that time failed because another
// process held the lock of the file for too long, and then opens the breaker.
func (p *Primary) lockHeld(ctx context.Context, began time.Time, err error) bool {
	if p.lock == nil || err == nil || time.Since(began) < leastLockWait {
		return false
	}
	if !strings.Contains(err.Error(), locked) && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return false
	}
	if p.lock.breaker.Open(err) {
		p.lock.probes.Go(p.probeLock)
	}
	return true
}

// probeLock closes the breaker when the lock is free, or when it fails for another reason,
// which callers then get.
func (p *Primary) probeLock() {
	for {
		select {
		case <-p.lock.ended.Done():
			return
		case <-time.After(lockPause):
		}
		conn, err := p.liveConn(p.lock.ended, p.write, beginWrite)
		if err == nil {
			rollback(p.lock.ended, conn)
			_ = conn.Close()
		}
		if err == nil || p.lock.ended.Err() == nil && !strings.Contains(err.Error(), locked) {
			p.lock.breaker.Close()
			return
		}
	}
}
