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

// replicas are the servers of one database, in the order in which they are tried: its
// own server first, then the fallbacks.
//
// A server that does not answer is marked unavailable: it gets no statements until it
// answers a probe, which is sent at once and then once a second. So only the requests that
// were running when it failed lose time, and the own server is used again soon after it is
// back, or at once if it was only slow.
//
// A read may be repeated, and goes from one server to the next. The first answer counts,
// also that of a server that took longer than its share. A write goes to the
// first server that accepts a connection, and to no other: all servers forward writes
// to the one primary, so a statement that was sent may have run servers.
type replicas struct {
	all []*replica
	clock
	// The time limits of a request and of a read.
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
	// write may wait for the primary's lock, or the server may be unavailable.
	probeAfter = 400 * time.Millisecond
)

var (
	errUnavailable = errors.New("no server of the database answers")
	// errLost reports that a group may or may not have run.
	errLost = errors.New("the server stopped answering; the write may or may not have run")
	// errNotSent reports that nothing of a group was sent.
	errNotSent = fmt.Errorf("%w: no connection to the server", errNotRun)
)

// replica is one server: the database's own or a fallback.
type replica struct {
	server *httpStream
	log    *slog.Logger
	// reads counts the reads that this server answered.
	reads atomic.Uint64

	// connect returns a new uptime.
	connect func() *uptime

	mu sync.Mutex
	// up is nil while the server is unavailable.
	up *uptime
}

// uptime is a period in which a server is available. Each has connections of its own:
// those from before an outage may be broken, which the client does not see.
type uptime struct {
	*groupReader
	began time.Time
	// over is closed at the end of the period. The connections are closed later: reads that
	// wait may still be answered.
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
	r := &replica{server: server, log: config.Log.With("server", server.host)}
	r.connect = func() *uptime {
		return &uptime{groupReader: newGroupReader(server.stream, server.limits, config.clock, config.ReadTimeout), began: config.clock.now(), over: make(chan struct{})}
	}
	r.up = r.connect()
	return r, nil
}

func (rs *replicas) close() error {
	rs.end()
	for _, r := range rs.all {
		r.uptime() // when this returns, a running markUnavailable has added to watches
	}
	rs.watches.Wait()
	for _, r := range rs.all {
		r.server.client.CloseIdleConnections()
		if p := r.uptime(); p != nil {
			p.close()
		}
	}
	return nil
}

// uptime returns the current period, or nil while the server is unavailable.
func (r *replica) uptime() *uptime {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.up
}

// available returns the servers that are not marked unavailable.
func (rs *replicas) available() []*replica {
	var up []*replica
	for _, r := range rs.all {
		if r.uptime() != nil {
			up = append(up, r)
		}
	}
	return up
}

// read asks one server after the other, and returns the rows of the first answer. A server
// that takes longer than its share is still waited for while the next ones are asked: on a
// busy machine it may only be slow, and the next one may be away.
func (rs *replicas) read(ctx context.Context, text string, args []any) (*result, error) {
	servers, end := rs.available(), rs.now().Add(rs.readTimeout)
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	late := make(chan answer, len(servers))
	err := errUnavailable
	for i, r := range servers {
		share := end.Sub(rs.now()) / time.Duration(len(servers)-i)
		if r == rs.all[0] {
			share = rs.ownShare()
		}
		got, failed := rs.ask(waiting, r, share, &call{ctx: waiting, text: text, args: args, result: make(chan outcome, 1)}, late)
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

// ownShare is how long a read waits for the own server before it asks the next one. It is
// short: that server is near, and while it hangs, the reads of this time are the only ones
// that are late. Others may be far, and are connected to only then.
func (rs *replicas) ownShare() time.Duration { return rs.readTimeout / 8 }

// ask asks a server. It also returns the answer of a server that was asked before, and it
// returns when the server is marked unavailable.
func (rs *replicas) ask(ctx context.Context, r *replica, share time.Duration, c *call, late chan answer) (*result, error) {
	p := r.uptime()
	if p == nil {
		return nil, errUnavailable
	}
	bounded, cancel := rs.withTimeout(ctx, share)
	defer cancel()
	if err := p.send(bounded, c); err != nil {
		return nil, rs.unanswered(ctx, r, p, err)
	}
	select {
	case o := <-c.result:
		if o.err == nil {
			r.reads.Add(1)
			return o.result, nil
		}
		if ctx.Err() == nil && unreachable(o.err) {
			rs.markUnavailable(r, p, o.err)
		}
		return nil, o.err
	case got := <-late:
		got.from.reads.Add(1)
		return got.result, nil
	case <-p.over:
		go r.await(ctx, c, late)
		return nil, errUnavailable
	case <-p.ended.Done():
		return nil, errUnavailable
	case <-bounded.Done():
		go r.await(ctx, c, late)
		return nil, rs.unanswered(ctx, r, p, bounded.Err())
	}
}

// unanswered marks a server unavailable that took longer than its share, unless the caller
// gave up, and returns why.
func (rs *replicas) unanswered(ctx context.Context, r *replica, p *uptime, why error) error {
	if ctx.Err() == nil && !errors.Is(why, errUnavailable) {
		rs.markUnavailable(r, p, why)
	}
	return why
}

// answer is an answer that came after a server's share of the time.
type answer struct {
	from   *replica
	result *result
}

// await passes on the answer to a call, until the caller no longer waits. The caller counts
// it if it takes it: another server may have answered the same read.
func (r *replica) await(ctx context.Context, c *call, late chan<- answer) {
	select {
	case o := <-c.result:
		if o.err == nil {
			late <- answer{r, o.result}
		}
	case <-ctx.Done():
	}
}

// unreachable reports whether an error comes from the connection, and not from the
// statement.
func unreachable(err error) bool {
	var network net.Error
	return errors.Is(err, errBroken) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &network)
}

// markUnavailable ends the period u, unless it has ended, and starts to probe the server.
func (rs *replicas) markUnavailable(r *replica, p *uptime, why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.up != p || rs.ended.Err() != nil {
		return
	}
	r.up = nil
	close(p.over)
	r.log.Warn("a database server does not answer", "error", why)
	rs.watches.Go(func() {
		rs.sleep(rs.readTimeout) // no read waits longer
		p.close()
	})
	rs.watches.Go(func() { rs.watch(r, rs.now().Sub(p.began) >= probePause) })
}

// watch probes a server until it answers. Unless the first probe is sent at once, it waits:
// a server that answers probes and is slow with reads is not connected to all the time.
func (rs *replicas) watch(r *replica, atOnce bool) {
	for {
		if !atOnce {
			rs.sleep(probePause)
		}
		atOnce = false
		if rs.ended.Err() != nil || r.uptime() != nil || rs.probeServer(rs.ended, r) == nil {
			return
		}
	}
}

// sleep returns after some time, or when the database is closed.
func (rs *replicas) sleep(d time.Duration) {
	pause, cancel := rs.withTimeout(rs.ended, d)
	defer cancel()
	<-pause.Done()
}

// probeTimeout bounds a probe.
func (rs *replicas) probeTimeout() time.Duration { return rs.readTimeout * 2 / 3 }

// probeServer sends a server a statement, and marks the server available if it answers.
func (rs *replicas) probeServer(ctx context.Context, r *replica) error {
	ctx, cancel := rs.withTimeout(ctx, rs.probeTimeout())
	defer cancel()
	if err := r.server.ping(ctx); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.up == nil && rs.ended.Err() == nil {
		r.up = r.connect()
		r.log.Info("a database server answers again")
	}
	return nil
}

// transact runs statements on the first server that accepts a connection; see
// httpStream.transact.
func (rs *replicas) transact(ctx context.Context, calls []*call) ([]outcome, error) {
	err := fmt.Errorf("%w: %w", errNotSent, errUnavailable)
	for _, r := range rs.toWrite(ctx) {
		results, failed := rs.send(ctx, r, calls)
		if !errors.Is(failed, errNotSent) {
			return results, failed
		}
		err = failed
	}
	return nil, err
}

// timeout is longer than a request lasts: an abandoned transaction would continue
// to wait for the lock at the server, and the next one would wait behind it.
func (rs *replicas) timeout() time.Duration { return 3 * rs.requestTimeout }

// linger is long, since a transaction is expensive: for each one, every replica opens
// the database again, reads its schema, and copies every page that changed.
func (rs *replicas) linger() time.Duration { return 20 * time.Millisecond }

// interval is zero: a transaction takes longer than any interval that would be useful.
func (rs *replicas) interval() time.Duration { return 0 }

// probe takes the write lock of the primary, through the first server that answers, and
// releases it. A replica runs BEGIN itself; only a statement that writes goes to the
// primary.
func (rs *replicas) probe(ctx context.Context) error {
	err := errUnavailable
	for _, r := range rs.toWrite(ctx) {
		p := r.uptime()
		if err = rs.pingWriter(ctx, r); err == nil || ctx.Err() != nil {
			return err
		}
		if failed := rs.probeServer(ctx, r); failed == nil || ctx.Err() != nil {
			return err // the primary is away, and not this server
		} else if p != nil {
			rs.markUnavailable(r, p, failed)
		}
	}
	return err
}

func (rs *replicas) pingWriter(ctx context.Context, r *replica) error {
	ctx, cancel := rs.withTimeout(ctx, rs.probeTimeout())
	defer cancel()
	return r.server.pingWriter(ctx)
}

func (rs *replicas) probePause() time.Duration { return probePause }

// durable returns at once: a server answers after a transaction is stored.
func (rs *replicas) durable() error { return nil }

// toWrite returns the available servers, and probes all at once if there is none. So a
// write waits for probes, and a read does not: a caller that cannot read may ask the
// backend, but one that cannot write gets an error.
func (rs *replicas) toWrite(ctx context.Context) []*replica {
	if servers := rs.available(); len(servers) > 0 {
		return servers
	}
	var probes sync.WaitGroup
	for _, r := range rs.all {
		probes.Go(func() { _ = rs.probeServer(ctx, r) })
	}
	probes.Wait()
	return rs.available()
}

func (rs *replicas) send(ctx context.Context, r *replica, calls []*call) ([]outcome, error) {
	p := r.uptime()
	if p == nil {
		return nil, errNotSent
	}
	watched, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	go rs.watchWrite(watched, giveUp, r, p)
	results, err := r.server.transact(watched, calls)
	if err != nil && ctx.Err() == nil && (errors.Is(err, errNotSent) || unreachable(err)) {
		rs.markUnavailable(r, p, err)
	}
	return results, err
}

// watchWrite cancels a write when its server does not answer a probe, since all later
// writes wait for it. The write may or may not have run.
func (rs *replicas) watchWrite(ctx context.Context, giveUp context.CancelCauseFunc, r *replica, p *uptime) {
	over := p.over
	for {
		pause, cancel := rs.withTimeout(ctx, probeAfter)
		select {
		case <-over: // a read was late; the server may only be slow
			over = nil
		case <-pause.Done():
		}
		cancel()
		if ctx.Err() != nil {
			return
		}
		if err := rs.probeServer(ctx, r); err != nil && ctx.Err() == nil {
			if p := r.uptime(); p != nil {
				rs.markUnavailable(r, p, err)
			}
			giveUp(errLost)
			return
		}
	}
}

// Reads counts the reads from the servers of a database.
type Reads struct {
	// Answered counts reads by the server that answered them: the database's own
	// first, then its fallbacks. Failed counts reads that no server answered.
	Answered []uint64
	Failed   uint64
	// From is the server that the next read goes to, as an index into Answered, or
	// -1 when all are unavailable.
	From int
}

// Reads returns the counts since the database was opened, or false if the database is
// a file.
func (d *Database) Reads() (Reads, bool) {
	rs, ok := d.source.(*replicas)
	if !ok {
		return Reads{}, false
	}
	reads := Reads{Failed: rs.failed.Load(), From: -1}
	for i, r := range rs.all {
		reads.Answered = append(reads.Answered, r.reads.Load())
		if reads.From < 0 && r.uptime() != nil {
			reads.From = i
		}
	}
	return reads, true
}
