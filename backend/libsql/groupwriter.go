package libsql

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"
)

// groupWriter runs all statements that write, through one writer. Statements that
// arrive while it runs a group form the next group: one transaction, in which each
// statement succeeds or fails alone, in the order of arrival.
//
// On a server, a transaction for each statement would cost a round trip to the primary
// and a lock wait each time. Connections that wait for that lock poll it without a
// pause, and a dozen of them leave a small server no time for the lock holder. While
// several requests write, a group therefore waits for the other requests in flight,
// which may write soon. On a file, each transaction costs a commit, which copies every
// page that it changes (mostly the same pages), and a flush of the disk. While several
// requests write, groups therefore begin at intervals.
//
// A statement is sent once, to one server. When its result is lost, the statement
// may or may not have run, and every caller of its group gets an error.
//
// No caller waits longer than writeTimeout, however many wait: when one has waited that
// long, the breaker opens.
type groupWriter struct {
	to    writer
	clock clock
	// writeTimeout is the longest time that a caller waits for its result.
	writeTimeout time.Duration
	breaker      *Breaker
	calls        chan *call
	// requests are those in flight, which may write soon.
	requests *inFlight
	// committed carries groups from work, which runs them, to settle, which waits
	// for the disk. It is unbuffered: one group is flushed while a second is written
	// and a third grows. The cost of a commit and of a flush depends little on the
	// size of the group.
	committed chan ranGroup
	// ended is done when the database is closed.
	ended context.Context
	end   context.CancelFunc
	done  sync.WaitGroup
}

// writer runs statements, one group after the other.
type writer interface {
	// transact runs statements in one transaction, in which each succeeds or fails
	// alone. An error concerns all of them: after errNotRun none has run, after any
	// other error they may have run.
	transact(ctx context.Context, calls []*call) ([]outcome, error)
	// durable returns when the transactions that were committed before the call
	// survive a power cut. Others may run meanwhile.
	durable() error
	// timeout bounds one transaction.
	timeout() time.Duration
	// linger is how long a group may wait for requests in flight while several write.
	linger() time.Duration
	// interval is the shortest time from the beginning of a group to that of the next
	// while several write.
	interval() time.Duration
	// probe returns nil if a write would be accepted now. It changes nothing.
	probe(ctx context.Context) error
	// probePause is the time between two probes.
	probePause() time.Duration
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

// step returns the step that runs the statement on a server.
func (c *call) step() hranaStep { return stepOf(c.text, c.args, true) }

type outcome struct {
	result *result
	err    error
}

// ranGroup is a group that has run, with its results or the error of the whole
// group. Its callers do not have them yet.
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
	// lockedPause is the longest pause before a group is sent again because the
	// database was locked and nothing ran.
	lockedPause = 20 * time.Millisecond
)

func newGroupWriter(to writer, requests *inFlight, config Config) *groupWriter {
	g := &groupWriter{
		to: to, clock: config.clock, writeTimeout: config.WriteTimeout, breaker: NewBreaker(config.Log),
		requests: requests, calls: make(chan *call, maxGroup), committed: make(chan ranGroup),
	}
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

// errLate reports that a write was not answered in time.
var errLate = errors.New("the database did not answer in time; the write may or may not have run")

// write runs a statement as a transaction of its own. The statement does not run if
// ctx is done, or the breaker opens, before its group begins.
func (g *groupWriter) write(ctx context.Context, text string, args []any) (*result, error) {
	opened, err := g.breaker.Admit()
	if err != nil {
		return nil, err
	}
	bounded, cancel := g.clock.withTimeout(ctx, g.writeTimeout)
	defer cancel()
	c := &call{ctx: bounded, text: text, args: args, result: make(chan outcome, 1)}
	select {
	case g.calls <- c:
	case <-opened:
		return nil, ErrRefused
	case <-bounded.Done():
		return nil, g.late(ctx)
	}
	g.requests.end()
	defer g.requests.begin()
	select {
	case w := <-c.result:
		return w.result, w.err
	case <-opened:
		err = errLate
	case <-bounded.Done():
		err = g.late(ctx)
	}
	select {
	case w := <-c.result: // it came at the same time
		return w.result, w.err
	default:
		return nil, err
	}
}

// late opens the breaker, since a caller has waited for the longest time, unless the
// caller gave up before.
func (g *groupWriter) late(caller context.Context) error {
	if err := caller.Err(); err != nil {
		return err
	}
	g.breaker.Open(errLate)
	return errLate
}

func (g *groupWriter) work() {
	defer close(g.committed)
	var first *call
	var began time.Time // the last group
	several := false    // it had several statements
	for {
		if first == nil {
			if first = g.next(); first == nil {
				return
			}
		}
		if several {
			time.Sleep(time.Until(began.Add(g.to.interval())))
			g.waitForRequests()
		}
		began = time.Now()
		var calls []*call
		calls, first = gather(first, g.calls)
		several = len(calls) > 1
		if len(calls) > 0 {
			g.pass(g.runGroup(calls))
		}
		g.awaitProbe()
	}
}

// pass passes a group that has run to settle. If the group failed, pass gives its callers
// their errors, and then opens the breaker if the connection failed.
func (g *groupWriter) pass(ran ranGroup) {
	if ran.err == nil {
		g.committed <- ran
		return
	}
	ran.deliver()
	if disconnected(ran.err) {
		g.breaker.Open(ran.err)
	}
}

// awaitProbe returns when the breaker is closed. While it is open, awaitProbe probes the
// database, and closes it when a probe succeeds.
func (g *groupWriter) awaitProbe() {
	for g.breaker.IsOpen() && g.ended.Err() == nil {
		if g.to.probe(g.ended) == nil {
			g.breaker.Close()
			return
		}
		pause, cancel := g.clock.withTimeout(g.ended, g.to.probePause())
		<-pause.Done()
		cancel()
	}
}

// next returns the next call, or nil after close. A caller may open the breaker when its
// group has just ended; next then waits for a probe.
func (g *groupWriter) next() *call {
	for g.ended.Err() == nil {
		opened, err := g.breaker.Admit()
		if err == nil {
			select {
			case c := <-g.calls:
				return c
			case <-opened:
			case <-g.ended.Done():
				return nil
			}
		}
		g.awaitProbe()
	}
	return nil
}

// waitForRequests waits until no other request is in flight, the next group is full,
// or the linger time is over.
func (g *groupWriter) waitForRequests() {
	linger := g.to.linger()
	if linger == 0 {
		return
	}
	end := time.After(linger)
	for g.requests.any() && len(g.calls) < maxGroup-1 {
		select {
		case <-g.requests.idle:
		case <-end:
			return
		}
	}
}

// settle gives callers their results once their writes survive a power cut.
func (g *groupWriter) settle() {
	for done := range g.committed {
		done.err = g.to.durable()
		done.deliver()
	}
}

// gather returns the calls of one group, without the calls whose callers have given up,
// and the first call of the next group, if that has arrived.
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

// runGroup runs a group until the breaker opens.
func (g *groupWriter) runGroup(calls []*call) ranGroup {
	ctx, cancel := g.breaker.WhileClosed(g.ended)
	defer cancel()
	ctx, cancelTimeout := context.WithTimeout(ctx, g.to.timeout())
	defer cancelTimeout()
	results, err := g.to.transact(ctx, calls)
	for err != nil && isLocked(err) && ctx.Err() == nil {
		time.Sleep(rand.N(lockedPause)) // #nosec G404 -- it spreads retries
		results, err = g.to.transact(ctx, calls)
	}
	if err != nil && ctx.Err() != nil && g.ended.Err() == nil {
		err = fmt.Errorf("%w: %w", errLate, err)
	}
	return ranGroup{calls, results, err}
}

// disconnected reports whether an error means that a server cannot be reached, or has
// stopped answering, or that a file was lost.
func disconnected(err error) bool {
	return errors.Is(err, ErrFileLost) || errors.Is(err, errUnavailable) || errors.Is(err, errNotSent) || errors.Is(err, errLost) || unreachable(err)
}

// errNotRun reports that no statement of a group has run.
var errNotRun = errors.New("no statement ran")

// isLocked reports whether a server ran nothing because others were writing.
func isLocked(err error) bool {
	return errors.Is(err, errNotRun) && strings.Contains(err.Error(), "database is locked")
}
