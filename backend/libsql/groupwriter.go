package libsql

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"time"
)

// groupWriter runs all statements that write, through one writer. Statements that
// arrive while it runs a group are the next group: one transaction, in which each
// succeeds or fails alone, in the order of arrival.
//
// On a server, a transaction for each statement would pay each time for the round
// trip to the primary and for its lock. Several connections that wait for that lock
// poll it without a pause, and a dozen of them leave a small server no time for the
// holder. Where several requests write, a group waits for the requests in flight,
// which may write next. On a file, each transaction would pay for a commit, with a
// copy of every page that it changes, most of them the same pages, and for a flush
// of the disk.
//
// A statement is sent once, to one server. When its result is lost, the statement
// may or may not have run, and every caller of its group gets an error.
type groupWriter struct {
	to    writer
	calls chan *call
	// others are the requests that may write next.
	others *inFlight
	// committed carries groups from work, which runs them, to settle, which waits
	// for the disk. It is unbuffered: one group is written while another is flushed
	// and a third one grows, since the cost of a commit and of a flush depends
	// little on their size.
	committed chan ranGroup
	// ended is done when the database is closed.
	ended context.Context
	end   context.CancelFunc
	done  sync.WaitGroup
}

// writer runs statements, one group after the other.
type writer interface {
	// transact runs statements in one transaction, in which each succeeds or fails
	// alone. The error is of all of them: with errNotRun none has run, with any
	// other they may have.
	transact(ctx context.Context, calls []*call) ([]outcome, error)
	// durable returns when the transactions that were committed before it will
	// survive a power cut. Others may run meanwhile.
	durable() error
	// timeout bounds one transaction.
	timeout() time.Duration
	// linger is how long a group may wait for more statements, so that there are
	// fewer transactions.
	linger() time.Duration
	close() error
}

// call is a statement and its waiting caller.
type call struct {
	ctx    context.Context
	text   string
	args   []any
	result chan outcome // has room for one
}

// awaited reports whether the caller still waits.
func (c *call) awaited() bool { return c.ctx.Err() == nil }

type outcome struct {
	result *result
	err    error
}

// ranGroup is a group whose callers do not have their results yet, or the error of
// the whole group.
type ranGroup struct {
	calls   []*call
	results []outcome
	err     error
}

func (c ranGroup) deliver() {
	for i, call := range c.calls {
		if c.err != nil {
			call.result <- outcome{err: c.err}
		} else {
			call.result <- c.results[i]
		}
	}
}

const (
	// maxGroup and maxGroupBytes bound a group.
	maxGroup      = 128
	maxGroupBytes = mib
	// lockedPause is the longest pause before a group that ran nothing, because the
	// database was locked, is sent again.
	lockedPause = 20 * time.Millisecond
)

func newGroupWriter(to writer, others *inFlight) *groupWriter {
	g := &groupWriter{to: to, others: others, calls: make(chan *call, maxGroup), committed: make(chan ranGroup)}
	g.ended, g.end = context.WithCancel(context.Background())
	g.done.Go(g.work)
	g.done.Go(g.settle)
	return g
}

func (g *groupWriter) close() error {
	g.end()
	g.done.Wait()
	return g.to.close()
}

// write runs a statement as a transaction of its own. It is not run when ctx is
// done before its group begins.
func (g *groupWriter) write(ctx context.Context, text string, args []any) (*result, error) {
	c := &call{ctx: ctx, text: text, args: args, result: make(chan outcome, 1)}
	select {
	case g.calls <- c:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	g.others.end()
	defer g.others.begin()
	select {
	case w := <-c.result:
		return w.result, w.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (g *groupWriter) work() {
	defer close(g.committed)
	var first *call
	several := false // of the group before
	for {
		if first == nil {
			select {
			case first = <-g.calls:
			case <-g.ended.Done():
				return
			}
		}
		if several {
			g.waitForOthers()
		}
		var calls []*call
		calls, first = gather(first, g.calls)
		several = len(calls) > 1
		if len(calls) > 0 {
			g.committed <- g.runGroup(calls)
		}
	}
}

// waitForOthers waits until no other request is in flight, for as long as the writer
// lingers.
func (g *groupWriter) waitForOthers() {
	most := g.to.linger()
	if most == 0 {
		return
	}
	end := time.After(most)
	for g.others.some() && len(g.calls) < maxGroup-1 {
		select {
		case <-g.others.none:
		case <-end:
			return
		}
	}
}

// settle gives callers their results once these will survive a power cut.
func (g *groupWriter) settle() {
	for done := range g.committed {
		done.err = errors.Join(done.err, g.to.durable())
		done.deliver()
	}
}

// gather returns the calls of one group, whose callers still wait, and the first call
// of the group after it, if that one has arrived.
func gather(next *call, more <-chan *call) (calls []*call, first *call) {
	for size := 0; ; {
		if next.awaited() {
			for _, arg := range next.args {
				size += sizeOfValue(arg)
			}
			if len(calls) > 0 && size > maxGroupBytes {
				return calls, next
			}
			calls = append(calls, next)
		}
		if len(calls) == maxGroup {
			return calls, nil
		}
		select {
		case next = <-more:
		default:
			return calls, nil
		}
	}
}

func (g *groupWriter) runGroup(calls []*call) ranGroup {
	ctx, cancel := context.WithTimeout(g.ended, g.to.timeout())
	defer cancel()
	results, err := g.to.transact(ctx, calls)
	for err != nil && isLocked(err) && ctx.Err() == nil {
		time.Sleep(rand.N(lockedPause)) // #nosec G404 -- it spreads retries
		results, err = g.to.transact(ctx, calls)
	}
	return ranGroup{calls, results, err}
}

// errNotRun is a group of which no statement has run.
var errNotRun = errors.New("nothing was carried out")

// isLocked reports whether a server ran nothing because others were writing.
func isLocked(err error) bool {
	return errors.Is(err, errNotRun) && strings.Contains(err.Error(), "database is locked")
}
