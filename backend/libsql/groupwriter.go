package libsql

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"time"
)

// groupWriter has all statements that write go by one writer. What arrives while it is
// at work goes together next, in one transaction, in which each statement stands
// or falls by itself, in the order of arrival.
//
// To a server, one after the other would pay the way to the primary and its lock
// for each, and several connections that wait for the lock poll it there, without
// a pause, so that a dozen of them leave a small server no time for the one that
// has it. Where several write, a group waits for those that are at work and may
// write next. To a file, each would pay for a commit, with a copy of every page that
// it touches, of which most are the same, and for the disk.
//
// A statement is sent once, to one of the servers. When its result gets lost
// nobody knows whether it was carried out, and all of its group are told that it
// failed.
type groupWriter struct {
	to    writer
	calls chan *call
	// others are the requests that may write next.
	others *inFlight
	// committed is the way from the one who carries out to the one who waits for
	// the disk. It holds nothing: of two groups, one is written while the other is
	// flushed, and a third grows meanwhile, since what a commit and a flush cost
	// depends little on how much it is.
	committed chan ranGroup
	// ended is done when the host is closed.
	ended context.Context
	end   context.CancelFunc
	done  sync.WaitGroup
}

// writer carries out statements, one group after the other.
type writer interface {
	// transact carries statements out in one transaction, in which each stands or
	// falls by itself. The error is of all of them; nothing was carried out when
	// it is errNotRun, and otherwise nobody knows.
	transact(ctx context.Context, calls []*call) ([]outcome, error)
	// durable returns when what was carried out before will survive a power cut.
	// Others may be carried out meanwhile.
	durable() error
	// timeout bounds one transaction.
	timeout() time.Duration
	// linger is how long a group may wait for more statements, so that there are
	// fewer transactions.
	linger() time.Duration
	close() error
}

// call is a statement that somebody waits for.
type call struct {
	ctx    context.Context
	text   string
	args   []any
	result chan outcome // has room for the one
}

// awaited reports whether somebody still waits.
func (c *call) awaited() bool { return c.ctx.Err() == nil }

type outcome struct {
	result *result
	err    error
}

// ranGroup is a group whose results are not told yet, or the error that is of
// all of it.
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
	// maxGroup and maxGroupBytes bound what goes together.
	maxGroup      = 128
	maxGroupBytes = mib
	// lockedPause is the longest rest before a group is sent to a locked
	// database again, which carried nothing of it out.
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

// write runs a statement as a transaction of its own. A request that ends before
// its turn is not carried out.
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

// waitForOthers waits until nobody is at work who may write next, or for as long as the
// writer says.
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

// settle tells everybody what became of their statement, when that will last.
func (g *groupWriter) settle() {
	for done := range g.committed {
		done.err = errors.Join(done.err, g.to.durable())
		done.deliver()
	}
}

// gather returns what is to go together, of those who still wait, and who comes
// first the next time.
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

// errNotRun is a group of which nothing was carried out.
var errNotRun = errors.New("nothing was carried out")

// isLocked reports whether a server carried nothing out because others were
// writing.
func isLocked(err error) bool {
	return errors.Is(err, errNotRun) && strings.Contains(err.Error(), "database is locked")
}
