package libsql

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// batchReader runs all statements that read from a server, over a few streams.
// Statements that arrive while all streams are in use are the next batch, in which
// each succeeds or fails alone: the server passes every batch between threads
// several times, which costs it as much as the statement does.
type batchReader struct {
	calls chan *call
	limits
	clock
	// timeout bounds a batch.
	timeout time.Duration
	// ended is done when the server is away.
	ended context.Context
	end   context.CancelFunc
	done  sync.WaitGroup
}

// readStreams is how many batches may run at once, so that a slow one does not delay
// all others.
const readStreams = 2

// batcher runs batches, one after the other, on a stream of its own.
type batcher interface {
	batch(ctx context.Context, steps []hranaStep) (*hranaResult, error)
	close()
}

func newBatchReader(open func() batcher, l limits, c clock, timeout time.Duration) *batchReader {
	r := &batchReader{calls: make(chan *call, maxGroup), limits: l, clock: c, timeout: timeout}
	r.ended, r.end = context.WithCancel(context.Background())
	for range readStreams {
		r.done.Go(func() { r.work(open()) })
	}
	return r
}

func (r *batchReader) close() {
	r.end()
	r.done.Wait()
}

// read runs a statement. It returns early when ctx is done or the server is away.
func (r *batchReader) read(ctx context.Context, text string, args []any) (*result, error) {
	c := &call{ctx: ctx, text: text, args: args, result: make(chan outcome, 1)}
	select {
	case r.calls <- c:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-r.ended.Done():
		return nil, errAway
	}
	select {
	case o := <-c.result:
		return o.result, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-r.ended.Done():
		return nil, errAway
	}
}

func (r *batchReader) work(to batcher) {
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
// batch, because it cannot parse one of the statements or the results together are
// too large, each call is run alone.
func (r *batchReader) runGroup(to batcher, calls []*call) {
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

// run sends calls, and sends them again when the connection broke: it may have been
// broken since the batch before, and a read may be repeated.
func (r *batchReader) run(to batcher, calls []*call) (*hranaResult, error) {
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
