package libsql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// replicas are the servers of one database, in the order in which they are
// asked: its own first, then its fallbacks.
//
// A server that does not answer is away: it is asked nothing until it answers a
// probe, which is made once a second. So only the requests that find it away lose
// time, and the own server is asked again as soon as it is back.
//
// Reads may be repeated, and go from one server to the next. A write goes to the
// first server to which there is a connection, and to no other: a statement that was
// sent may have run on the one primary, to which all servers pass writes.
type replicas struct {
	all []*replica
	clock
	// timeouts are those of a request and of a read.
	requestTimeout, readTimeout time.Duration
	// failed counts reads that no server answered.
	failed atomic.Uint64
	// ended is done when the database is closed.
	ended   context.Context
	end     context.CancelFunc
	watches sync.WaitGroup
}

const (
	// probePause is the time between two probes of a server.
	probePause = time.Second
	// probeAfter is how long a write may take before its server is probed: the
	// write may wait for the primary's lock, or the server may be away.
	probeAfter = 400 * time.Millisecond
)

var (
	errAway = errors.New("no server of the database answers")
	// errLost is a group that may or may not have run.
	errLost = errors.New("the server does not answer any more")
	// errNotSent is a group of which nothing was sent.
	errNotSent = fmt.Errorf("%w: no connection to the server", errNotRun)
)

// replica is one server: the own one or a fallback.
type replica struct {
	name   string // in the log
	server *httpStream
	log    *slog.Logger
	// reads counts those that it answered.
	reads atomic.Uint64

	// connect begins a presence.
	connect func() *presence

	mu sync.Mutex
	// present is nil while the server is away.
	present *presence
}

// presence is a time in which a server answers. Each has connections of its own:
// those from before a server was away may be broken without a sign of it.
type presence struct {
	*batchReader
	// over is closed at the presence's end.
	over chan struct{}
}

func newReplicas(config Config) (*replicas, error) {
	rs := &replicas{clock: config.clock, requestTimeout: config.Timeout, readTimeout: config.ReadTimeout}
	rs.ended, rs.end = context.WithCancel(context.Background())
	for _, url := range append([]string{config.URL}, config.Fallbacks...) {
		r, err := newReplica(url, config)
		if err != nil {
			return nil, errors.Join(err, rs.close())
		}
		rs.all = append(rs.all, r)
	}
	return rs, nil
}

func newReplica(url string, config Config) (*replica, error) {
	server, err := newHTTPStream(url, config.Token, config.limits())
	if err != nil {
		return nil, err
	}
	r := &replica{name: server.host, server: server, log: config.Log}
	r.connect = func() *presence {
		return &presence{batchReader: newBatchReader(server.reads, server.limits, config.clock, config.ReadTimeout), over: make(chan struct{})}
	}
	r.present = r.connect()
	return r, nil
}

func (rs *replicas) close() error {
	rs.end()
	for _, r := range rs.all {
		r.presence() // markAway, if it runs, has added to watches when this returns
	}
	rs.watches.Wait()
	for _, r := range rs.all {
		r.server.client.CloseIdleConnections()
		if p := r.presence(); p != nil {
			p.close()
		}
	}
	return nil
}

// presence is nil while the server is away.
func (r *replica) presence() *presence {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.present
}

// present are the servers that are not away.
func (rs *replicas) present() []*replica {
	var there []*replica
	for _, r := range rs.all {
		if r.presence() != nil {
			there = append(there, r)
		}
	}
	return there
}

// prepare has nothing to do: a server prepares by itself.
func (rs *replicas) prepare(context.Context, *statement) error { return nil }

// read asks one server after the other, and returns the rows of the first that
// answers.
func (rs *replicas) read(ctx context.Context, s *statement, args []any) (*result, error) {
	there, end := rs.present(), rs.now().Add(rs.readTimeout)
	err := errAway
	for i, r := range there {
		share := end.Sub(rs.now()) / time.Duration(len(there)-i)
		got, failed := rs.ask(ctx, r, share, s.text, args)
		if failed == nil {
			return got, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err = failed; errors.Is(err, errTooLarge) {
			return nil, err
		}
	}
	rs.failed.Add(1)
	return nil, err
}

func (rs *replicas) ask(ctx context.Context, r *replica, share time.Duration, text string, args []any) (*result, error) {
	p := r.presence()
	if p == nil {
		return nil, errAway
	}
	bounded, cancel := rs.withTimeout(ctx, share)
	defer cancel()
	got, err := p.read(bounded, text, args)
	if err == nil {
		r.reads.Add(1)
		return got, nil
	}
	if ctx.Err() == nil && (bounded.Err() != nil || unreachable(err)) {
		rs.markAway(r, p, err)
	}
	return nil, err
}

// unreachable reports whether an error is of the connection, and not of the
// statement.
func unreachable(err error) bool {
	var network net.Error
	return errors.Is(err, errBroken) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &network)
}

// markAway ends a presence, unless it has ended, and has the server watched.
func (rs *replicas) markAway(r *replica, p *presence, why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.present != p || rs.ended.Err() != nil {
		return
	}
	r.present = nil
	close(p.over)
	p.end()
	r.log.Warn("a database server does not answer", "server", r.name, "error", why)
	rs.watches.Go(func() { rs.watch(r) })
}

// watch probes a server until it is back.
func (rs *replicas) watch(r *replica) {
	for {
		pause, cancel := rs.withTimeout(rs.ended, probePause)
		<-pause.Done()
		cancel()
		if rs.ended.Err() != nil || r.presence() != nil || rs.probe(rs.ended, r) == nil {
			return
		}
	}
}

// probeTimeout bounds a probe.
func (rs *replicas) probeTimeout() time.Duration { return rs.readTimeout * 2 / 3 }

// probe asks a server whether it is there, and notes it when it is back.
func (rs *replicas) probe(ctx context.Context, r *replica) error {
	ctx, cancel := rs.withTimeout(ctx, rs.probeTimeout())
	defer cancel()
	if err := r.server.ping(ctx); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.present == nil && rs.ended.Err() == nil {
		r.present = r.connect()
		r.log.Info("a database server answers again", "server", r.name)
	}
	return nil
}

// transact runs statements on the first server to which there is a connection; see
// httpStream.transact.
func (rs *replicas) transact(ctx context.Context, calls []*call) ([]outcome, error) {
	there := rs.present()
	if len(there) == 0 {
		// A caller that cannot read may ask the backend; one that cannot write gets
		// an error. So a write waits for probes, and reads do not.
		there = rs.find(ctx)
	}
	err := fmt.Errorf("%w: %w", errNotSent, errAway)
	for _, r := range there {
		results, failed := rs.send(ctx, r, calls)
		if !errors.Is(failed, errNotSent) {
			return results, failed
		}
		err = failed
	}
	return nil, err
}

// timeout is longer than a request lasts: a transaction that is given up goes on
// waiting for the lock at the server, and the next one beside it.
func (rs *replicas) timeout() time.Duration { return 3 * rs.requestTimeout }

// linger is long, since a transaction is expensive: each replica opens the database
// anew for it, schema and all, and copies every page that it changed.
func (rs *replicas) linger() time.Duration { return 20 * time.Millisecond }

// durable has nothing to wait for: a server answers when a transaction is kept.
func (rs *replicas) durable() error { return nil }

// find probes all servers at once, and returns those that are there.
func (rs *replicas) find(ctx context.Context) []*replica {
	var probes sync.WaitGroup
	for _, r := range rs.all {
		probes.Go(func() { _ = rs.probe(ctx, r) })
	}
	probes.Wait()
	return rs.present()
}

func (rs *replicas) send(ctx context.Context, r *replica, calls []*call) ([]outcome, error) {
	p := r.presence()
	if p == nil {
		return nil, errNotSent
	}
	watched, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	go rs.watchWrite(watched, giveUp, r, p)
	results, err := r.server.transact(watched, calls)
	if err != nil && ctx.Err() == nil && (errors.Is(err, errNotSent) || unreachable(err)) {
		rs.markAway(r, p, err)
	}
	return results, err
}

// watchWrite cancels a write when its server is away, since all later writes wait for
// it. The write may or may not have run.
func (rs *replicas) watchWrite(ctx context.Context, giveUp context.CancelCauseFunc, r *replica, p *presence) {
	for {
		pause, cancel := rs.withTimeout(ctx, probeAfter)
		select {
		case <-p.over:
			giveUp(errLost)
		case <-pause.Done():
		}
		cancel()
		if ctx.Err() != nil {
			return
		}
		if err := rs.probe(ctx, r); err != nil && ctx.Err() == nil {
			rs.markAway(r, p, err)
		}
	}
}

// Reads counts the reads of a database on servers.
type Reads struct {
	// Answered counts reads by the server that answered them: the database's own,
	// then its fallbacks. Failed counts those that none answered.
	Answered []uint64
	Failed   uint64
	// From is the server that the next read goes to, as an index of Answered; -1
	// when all are away.
	From int
}

// Reads returns the counts since the database was opened; false when it is not on a
// server.
func (d *Database) Reads() (Reads, bool) {
	rs, ok := d.source.(*replicas)
	if !ok {
		return Reads{}, false
	}
	reads := Reads{Failed: rs.failed.Load(), From: -1}
	for i, r := range rs.all {
		reads.Answered = append(reads.Answered, r.reads.Load())
		if reads.From < 0 && r.presence() != nil {
			reads.From = i
		}
	}
	return reads, true
}
