package libsql

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"
)

// groupReader runs all statements that read from a server, over a few streams.
// Statements that arrive while all streams are in use form the next group, in which
// each succeeds or fails alone. Grouping saves the server work: it passes every
// message between threads several times, which costs as much as a statement. Of equal
// statements in a group the server runs one: it parses and plans each that it runs, and
// the visitors of a popular link all read the same.
type groupReader struct {
	calls chan *call
	limits
	clock
	// timeout bounds a group.
	timeout time.Duration
	// ended is done when no call waits for the server any longer.
	ended context.Context
	end   context.CancelFunc
	done  sync.WaitGroup
}

// readStreams is how many groups may run at once, so that a slow one does not delay
// all others.
const readStreams = 2

const (
	// streamAge is the age at which a stream is replaced. A replica whose primary was killed
	// copies the whole database again. Meanwhile it answers from the old database on streams
	// that are open over a WebSocket, and forwards to the primary what arrives on new ones and
	// over HTTP.
	streamAge = time.Second
	// renewalWait is how long a group waits for the stream that replaces an old one. It
	// is longer than opening one takes, so that the first read after a pause is not
	// answered from an old database.
	renewalWait = 20 * time.Millisecond
)

func newGroupReader(another func() stream, l limits, c clock, timeout time.Duration) *groupReader {
	r := &groupReader{calls: make(chan *call, maxGroup), limits: l, clock: c, timeout: timeout}
	r.ended, r.end = context.WithCancel(context.Background())
	for range readStreams {
		r.done.Go(func() { r.work(another) })
	}
	return r
}

func (r *groupReader) close() {
	r.end()
	r.done.Wait()
}

// send passes a call to the streams. The call has a result unless its context ends before.
func (r *groupReader) send(ctx context.Context, c *call) error {
	select {
	case r.calls <- c:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-r.ended.Done():
		return errUnavailable
	}
}

func (r *groupReader) work(another func() stream) {
	s := &renewedStream{of: r, another: another, stream: another(), tried: r.now()}
	defer s.end()
	_ = r.ping(s) // opens it; if that fails, the next group opens it or has the error
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
			s.renew()
			r.runGroup(s, calls)
		}
	}
}

// renewedStream is a stream that is replaced when it is old. The new one is opened beside
// it, and replaces it when it has answered: until then the old one is used.
type renewedStream struct {
	of      *groupReader
	another func() stream
	stream
	// tried is when the opening of the last stream began.
	tried time.Time
	// opening receives the new stream, or nil if it did not answer. It is nil while no stream
	// is being opened.
	opening chan stream
}

// renew replaces the stream if it is old and the new one answers soon.
func (s *renewedStream) renew() {
	if s.opening != nil {
		select {
		case next := <-s.opening:
			s.replace(next)
		default:
		}
		return
	}
	if s.of.now().Sub(s.tried) <= streamAge {
		return
	}
	opened := make(chan stream, 1)
	s.tried, s.opening = s.of.now(), opened
	s.of.done.Go(func() {
		next := s.another()
		if s.of.ping(next) != nil {
			next.close()
			next = nil
		}
		opened <- next
	})
	wait, cancel := s.of.withTimeout(s.of.ended, renewalWait)
	defer cancel()
	select {
	case next := <-opened:
		s.replace(next)
	case <-wait.Done():
	}
}

func (s *renewedStream) replace(by stream) {
	s.opening = nil
	if by != nil {
		s.close()
		s.stream = by
	}
}

// end closes the stream, and the one that is being opened.
func (s *renewedStream) end() {
	if s.opening != nil {
		s.replace(<-s.opening)
	}
	s.close()
}

// ping runs a statement that reads no table.
func (r *groupReader) ping(s stream) error {
	ctx, cancel := r.withTimeout(r.ended, r.timeout)
	defer cancel()
	_, err := s.batch(ctx, []hranaStep{stepOf("SELECT 1", nil, false)})
	return err
}

// runGroup runs calls and gives each its result. When the server refuses the whole
// group, because it cannot parse one of the statements or because the results
// together are too large, runGroup runs each call alone.
func (r *groupReader) runGroup(to stream, calls []*call) {
	unlike, at := distinct(calls)
	done, err := r.run(to, unlike)
	if err != nil && len(calls) > 1 && !unreachable(err) && r.ended.Err() == nil {
		for _, c := range calls {
			r.runGroup(to, []*call{c})
		}
		return
	}
	results := make([]outcome, len(unlike))
	for i := range unlike {
		if err != nil {
			results[i].err = err
		} else {
			results[i] = r.outcome(done, i)
		}
	}
	for i, c := range calls {
		c.result <- results[at[i]]
	}
}

// distinct returns the first of all calls that are equal, for each different one, and the
// position of each call's result among theirs.
func distinct(calls []*call) (unlike []*call, at []int) {
	at = make([]int, len(calls))
	for i, c := range calls {
		if at[i] = slices.IndexFunc(unlike, c.equals); at[i] < 0 {
			at[i] = len(unlike)
			unlike = append(unlike, c)
		}
	}
	return unlike, at
}

// equals reports whether two calls have the same statement and arguments.
func (c *call) equals(other *call) bool {
	return c.text == other.text && slices.EqualFunc(c.args, other.args, func(a, b any) bool {
		blob, isBlob := a.([]byte)
		if otherBlob, ok := b.([]byte); ok || isBlob {
			return ok && isBlob && bytes.Equal(blob, otherBlob)
		}
		return a == b
	})
}

// run sends calls, and sends them once more when the connection broke: it may have
// been broken since the last group, and a read is safe to repeat.
func (r *groupReader) run(to stream, calls []*call) (*hranaResult, error) {
	ctx, cancel := r.withTimeout(r.ended, r.timeout)
	defer cancel()
	steps := make([]hranaStep, len(calls))
	for i, c := range calls {
		steps[i] = c.step()
	}
	done, err := to.batch(ctx, steps)
	if err != nil && unreachable(err) && ctx.Err() == nil {
		done, err = to.batch(ctx, steps)
	}
	return done, err
}
