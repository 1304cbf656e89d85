package libsql

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// groupReader runs all statements that read from a server, over a few streams.
// Statements that arrive while all streams are in use form the next group, in which
// each succeeds or fails alone. Grouping saves the server work: it passes every
// message between threads several times, which costs as much as a statement.
type groupReader struct {
	calls chan *call
	limits
	clock
	// timeout bounds a group.
	timeout time.Duration
	// ended is done when the server is unavailable.
	ended context.Context
	end   context.CancelFunc
	done  sync.WaitGroup
}

// readStreams is how many groups may run at once, so that a slow one does not delay
// all others.
const readStreams = 2

// readStream runs Hrana batches, one after the other, on a stream of its own.
type readStream interface {
	batch(ctx context.Context, steps []hranaStep) (*hranaResult, error)
	close()
}

func newGroupReader(open func() readStream, l limits, c clock, timeout time.Duration) *groupReader {
	r := &groupReader{calls: make(chan *call, maxGroup), limits: l, clock: c, timeout: timeout}
	r.ended, r.end = context.WithCancel(context.Background())
	for range readStreams {
		r.done.Go(func() { r.work(open()) })
	}
	return r
}

func (r *groupReader) close() {
	r.end()
	r.done.Wait()
}

// read runs a statement. It returns early when ctx is done or the server is unavailable.
func (r *groupReader) read(ctx context.Context, text string, args []any) (*result, error) {
	c := &call{ctx: ctx, text: text, args: args, result: make(chan outcome, 1)}
	select {
	case r.calls <- c:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-r.ended.Done():
		return nil, errUnavailable
	}
	select {
	case o := <-c.result:
		return o.result, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-r.ended.Done():
		return nil, errUnavailable
	}
}

func (r *groupReader) work(to readStream) {
	defer to.close()
	var first *call
	for {
		if first == nil {
			select {
			case first = <-r.calls:
			case <-r.ended.Done():
				return
			}
		}
		var calls []*call
		if calls, first = gather(first, r.calls); len(calls) > 0 {
			r.runGroup(to, calls)
		}
	}
}

// runGroup runs calls and gives each its result. When the server refuses the whole
// group, because it cannot parse one of the statements or because the results
// together are too large, runGroup runs each call alone.
func (r *groupReader) runGroup(to readStream, calls []*call) {
	done, err := r.run(to, calls)
	if err != nil && len(calls) > 1 && !unreachable(err) && r.ended.Err() == nil {
		for _, c := range calls {
			r.runGroup(to, []*call{c})
		}
		return
	}
	for i, c := range calls {
		if err != nil {
			c.result <- outcome{err: err}
		} else {
			c.result <- r.outcome(done, i)
		}
	}
}

// run sends calls, and sends them once more when the connection broke: it may have
// been broken since the last group, and a read is safe to repeat.
func (r *groupReader) run(to readStream, calls []*call) (*hranaResult, error) {
	ctx, cancel := r.withTimeout(r.ended, r.timeout)
	defer cancel()
	steps := make([]hranaStep, len(calls))
	for i, c := range calls {
		steps[i].Stmt = hranaStmtOf(c)
	}
	done, err := to.batch(ctx, steps)
	if err != nil && unreachable(err) && ctx.Err() == nil {
		done, err = to.batch(ctx, steps)
	}
	if err == nil && (len(done.Results) != len(steps) || len(done.Errors) != len(steps)) {
		err = fmt.Errorf("the server answered %d of %d steps", len(done.Results), len(steps))
	}
	return done, err
}
