package host

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"time"
)

// group writes to a server: one statement after the other would pay the way to
// the primary and its lock for each, and several connections that wait for the
// lock poll it there, without a pause, so that a dozen of them leave a small
// server no time for the one that has it. So there is one writer. What arrives
// while it is on its way goes together next, in one transaction, in which each
// statement stands or falls by itself, in the order of arrival.
//
// A statement is sent once, to one of the servers. When its result gets lost
// nobody knows whether it was carried out, and all of its group are told that it
// failed.
type group struct {
	servers *replicas
	calls   chan *writeCall
	// ended is done when the host is closed.
	ended context.Context
	end   context.CancelFunc
	done  sync.WaitGroup
}

// writeCall is a statement that somebody waits for.
type writeCall struct {
	ctx    context.Context
	text   string
	args   []any
	result chan written // has room for the one
}

type written struct {
	result *result
	err    error
}

const (
	// maxGroup and maxGroupBytes bound what goes together.
	maxGroup      = 128
	maxGroupBytes = mib
	// groupTimeout bounds one sending. It is longer than a request lasts: who
	// gives up early and comes back has two waiting for the lock.
	groupTimeout = 30 * time.Second
	// lockedPause is the longest rest before a group is sent to a locked
	// database again, which carried nothing of it out.
	lockedPause = 20 * time.Millisecond
)

func newGroup(servers *replicas) *group {
	g := &group{servers: servers, calls: make(chan *writeCall, maxGroup)}
	g.ended, g.end = context.WithCancel(context.Background())
	g.done.Go(g.work)
	return g
}

func (g *group) close() {
	g.end()
	g.done.Wait()
}

// write runs a statement as a transaction of its own. A request that ends before
// its turn is not carried out.
func (g *group) write(ctx context.Context, text string, args []any) (*result, error) {
	c := &writeCall{ctx: ctx, text: text, args: args, result: make(chan written, 1)}
	select {
	case g.calls <- c:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case w := <-c.result:
		return w.result, w.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (g *group) work() {
	var first *writeCall
	for {
		if first == nil {
			select {
			case first = <-g.calls:
			case <-g.ended.Done():
				return
			}
		}
		var calls []*writeCall
		calls, first = g.gather(first)
		if len(calls) > 0 {
			g.carryOut(calls)
		}
	}
}

// gather returns what is to go together, of those who still wait, and who comes
// first the next time.
func (g *group) gather(next *writeCall) (calls []*writeCall, first *writeCall) {
	for size := 0; ; {
		if next.ctx.Err() == nil {
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
		case next = <-g.calls:
		default:
			return calls, nil
		}
	}
}

func (g *group) carryOut(calls []*writeCall) {
	ctx, cancel := context.WithTimeout(g.ended, groupTimeout)
	defer cancel()
	for {
		results, err := g.servers.transact(ctx, calls)
		if err != nil && isLocked(err) && ctx.Err() == nil {
			time.Sleep(rand.N(lockedPause))
			continue
		}
		for i, c := range calls {
			if err != nil {
				c.result <- written{err: err}
			} else {
				c.result <- results[i]
			}
		}
		return
	}
}

// errNotDone is a group of which nothing was carried out.
var errNotDone = errors.New("nothing was carried out")

// isLocked reports whether a server carried nothing out because others were
// writing.
func isLocked(err error) bool {
	return errors.Is(err, errNotDone) && strings.Contains(err.Error(), "database is locked")
}
