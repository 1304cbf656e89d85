package libsql

import (
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tursodatabase/libsql-client-go/libsql"

	"kith/backend/store/sqldtest"
	"kith/backend/testenv/manualclock"
)

// withFallback opens a database on the first of two replicas, with the second as
// its fallback. It measures its timeouts with clk.
func withFallback(t *testing.T, c *sqldtest.Cluster, scheme string, clk *manualclock.Clock) *Database {
	t.Helper()
	url := func(r *sqldtest.Replica) string { return strings.Replace(r.URL(), "ws", scheme, 1) }
	d, err := Open(t.Context(), Config{URL: url(c.Replicas[0]), Fallbacks: []string{url(c.Replicas[1])}, WriteTimeout: deadline, clock: manual(clk)})
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// twoReplicas starts a cluster with two replicas, both of which have a table t with one row.
func twoReplicas(t *testing.T) *sqldtest.Cluster {
	t.Helper()
	c := sqldtest.StartWith(t, sqldtest.Options{Replicas: 2})
	primary := server(t, c.PrimaryURL())
	primary.mustQuery(t, "CREATE TABLE t (v)")
	primary.mustQuery(t, "INSERT INTO t VALUES ('old')")
	c.WaitForSync(t)
	return c
}

// answered returns the number of reads that each server has answered, and at the end
// the number of those that none answered.
func (d *Database) answered() (n []uint64) {
	for _, r := range d.servers().all {
		n = append(n, r.reads.Load())
	}
	return append(n, d.servers().failed.Load())
}

// awaitOwn reads until the database's own server answers reads again, which takes a
// successful probe.
func (d *Database) awaitOwn(t *testing.T, clk *manualclock.Clock) {
	t.Helper()
	clk.AdvanceUntil(t, probePause, func() bool {
		before := d.answered()[0]
		_, err := d.query(t.Context(), []byte("SELECT v FROM t"), nil)
		return err == nil && d.answered()[0] > before
	}, "the own replica is not used again")
}

// awaitWrite runs a statement that writes once the database accepts writes again, which
// takes a successful probe. A refused statement has not run.
func (d *Database) awaitWrite(t *testing.T, clk *manualclock.Clock, text string) {
	t.Helper()
	clk.AdvanceUntil(t, probePause, func() bool {
		_, err := d.query(t.Context(), []byte(text), nil)
		return err == nil || !assert.ErrorIs(t, err, ErrRefused)
	}, "no write is accepted")
}

// awaitLater is awaitWrite of a value. A write that ended late, since the servers failed
// meanwhile, may have run: then another value is written. It returns the one that was.
func (d *Database) awaitLater(t *testing.T, clk *manualclock.Clock, value string) string {
	t.Helper()
	clk.AdvanceUntil(t, probePause, func() bool {
		_, err := d.query(t.Context(), []byte("INSERT INTO t VALUES ('"+value+"')"), nil)
		if errors.Is(err, errLate) {
			value += " again"
			return false
		}
		return err == nil || !assert.ErrorIs(t, err, ErrRefused)
	}, "no write is accepted")
	return value
}

// outages are the ways in which a server becomes unavailable, and how it recovers. A
// silent server accepts what is sent but never answers: only a deadline detects it.
var outages = map[string]struct {
	begin, end func(*testing.T, *sqldtest.Replica)
	silent     bool
}{
	"killed": {func(t *testing.T, r *sqldtest.Replica) { r.Kill(t) }, func(t *testing.T, r *sqldtest.Replica) { r.Start(t) }, false},
	"paused": {func(t *testing.T, r *sqldtest.Replica) { r.Pause(t) }, func(t *testing.T, r *sqldtest.Replica) { r.Resume(t) }, true},
}

// While the own server is unavailable, reads go to the fallback. Only the reads that
// were running take longer, and the own server is used again when it is back.
func TestReplicas_ReadsGoToTheFallback(t *testing.T) {
	t.Parallel()
	for how, what := range outages {
		for _, scheme := range []string{"ws", "http"} {
			t.Run(how+", "+scheme, func(t *testing.T) {
				t.Parallel()
				c := twoReplicas(t)
				clk := manualclock.New()
				d := withFallback(t, c, scheme, clk)
				share := d.servers().ownShare()
				const readers = 8 // each with its own connection
				d.readAtOnce(t, readers)()
				require.Equal(t, []uint64{readers, 0, 0}, d.answered())
				what.begin(t, c.Replicas[0])
				done := d.readAtOnce(t, readers)
				if what.silent {
					clk.Pass(t, share, readers)
				}
				done()
				require.Equal(t, []uint64{readers, readers, 0}, d.answered())
				asked := clk.Total(share)
				d.readAtOnce(t, readers)()
				require.Equal(t, asked, clk.Total(share), "an unavailable server gets no share of the time")
				require.Equal(t, []uint64{readers, 2 * readers, 0}, d.answered())
				what.end(t, c.Replicas[0])
				d.awaitOwn(t, clk)
				d.readAtOnce(t, readers)()
			})
		}
	}
}

// A server that is only slow, as on a busy machine: its answer counts though the next server
// was asked meanwhile and hangs, a write that waits for it is not given up, and it is used
// again at once.
func TestReplicas_OwnServerIsSlow(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"ws", "http"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			c := twoReplicas(t)
			clk := manualclock.New()
			d := withFallback(t, c, scheme, clk)
			d.mustQuery(t, "SELECT v FROM t")
			clk.Advance(probePause) // it has been available for a while
			free := lock(t, c.PrimaryURL())
			sent := d.sent()
			written := d.start(t, "INSERT INTO t VALUES ('written')")
			<-sent
			for _, r := range c.Replicas {
				r.Pause(t)
			}
			const readers = 8
			done := d.readAtOnce(t, readers)
			clk.Pass(t, d.servers().ownShare(), readers)
			eventually(t, func() bool { return len(d.servers().available()) == 1 && clk.Running(d.servers().probeTimeout()) >= 2 })
			c.Replicas[0].Resume(t)
			eventually(t, func() bool { return d.answered()[0] > 1 && len(d.servers().available()) == 2 })
			// A read whose connection the server has dropped meanwhile waits for the next one.
			c.Replicas[1].Resume(t)
			done()
			before := d.answered()
			require.Equal(t, uint64(1+readers), before[0]+before[1])
			d.readAtOnce(t, readers)()
			require.Equal(t, []uint64{before[0] + readers, before[1], 0}, d.answered())
			free()
			require.NoError(t, <-written)
		})
	}
}

// readAtOnce reads the row of t in several goroutines. The function that it returns
// waits until they have finished.
func (d *Database) readAtOnce(t *testing.T, readers int) (wait func()) {
	t.Helper()
	var done sync.WaitGroup
	for range readers {
		done.Go(func() {
			r, err := d.query(t.Context(), []byte("SELECT v FROM t"), nil)
			if assert.NoError(t, err) {
				assert.Equal(t, []any{"old"}, r.values)
			}
		})
	}
	return done.Wait
}

// When all servers are unavailable, a running read fails when its time is over, later
// reads fail at once, and a write fails once all servers were probed.
func TestReplicas_AllUnavailable(t *testing.T) {
	t.Parallel()
	for how, what := range outages {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			c := twoReplicas(t)
			clk := manualclock.New()
			d := withFallback(t, c, "ws", clk)
			share := d.servers().ownShare()
			d.mustQuery(t, "SELECT v FROM t")
			for _, r := range c.Replicas {
				what.begin(t, r)
			}
			began, failed := clk.Now(), d.start(t, "SELECT v FROM t")
			if what.silent {
				clk.Pass(t, share, 1)
				clk.Pass(t, d.servers().readTimeout-share, 1)
				require.Equal(t, d.servers().readTimeout, clk.Now().Sub(began), "the read had the time shares of both servers")
			}
			require.Error(t, <-failed)
			require.ErrorIs(t, <-d.start(t, "SELECT v FROM t"), errUnavailable, "no server is tried")
			require.Equal(t, []uint64{1, 0, 2}, d.answered())
			failed = d.start(t, "INSERT INTO t VALUES ('lost')")
			if what.silent {
				clk.Pass(t, d.servers().probeTimeout(), 2)
			}
			require.ErrorIs(t, <-failed, errNotSent)
			for _, r := range c.Replicas {
				what.end(t, r)
			}
			d.awaitOwn(t, clk)
			d.awaitWrite(t, clk, "INSERT INTO t VALUES ('new')")
			require.Equal(t, []any{"old", "new"}, server(t, c.PrimaryURL()).mustQuery(t, "SELECT v FROM t").values)
		})
	}
}

// start begins a statement, and returns a channel that receives its error.
func (d *Database) start(t *testing.T, text string) (ended chan error) {
	ended = make(chan error, 1)
	go func() {
		_, err := d.query(t.Context(), []byte(text), nil)
		ended <- err
	}()
	return ended
}

// A read that fails on one server, for example because the data is not replicated
// yet, is tried on the next, and both servers stay available.
func TestReplicas_ServerThatLagsBehind(t *testing.T) {
	t.Parallel()
	c := twoReplicas(t)
	d := withFallback(t, c, "ws", manualclock.New())
	c.Replicas[0].Disconnect(t)
	server(t, c.PrimaryURL()).mustQuery(t, "CREATE TABLE later AS SELECT 1 AS v")
	eventually(t, func() bool {
		r, err := d.query(t.Context(), []byte("SELECT v FROM later"), nil)
		if err != nil {
			assert.ErrorContains(t, err, "no such table")
			return false
		}
		return assert.Equal(t, []any{int64(1)}, r.values)
	})
	require.Len(t, d.servers().available(), 2)
}

// A write that was sent is not sent again: the primary may run it although the server
// in between has failed. Later writes go through the fallback.
func TestReplicas_WriteInFlightIsNotRepeated(t *testing.T) {
	t.Parallel()
	for how, what := range outages {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			c := twoReplicas(t)
			clk := manualclock.New()
			d := withFallback(t, c, "ws", clk)
			sent := d.sent()
			var later []string
			for i := range 5 {
				free := lock(t, c.PrimaryURL())
				for len(sent) > 0 {
					<-sent
				}
				ended := d.start(t, fmt.Sprintf("INSERT INTO t VALUES ('flight %d')", i))
				<-sent
				// The write waits for the primary's lock, while its server answers a probe.
				clk.Pass(t, probeAfter, 1)
				eventually(t, func() bool { return clk.Running(probeAfter) == 1 })
				what.begin(t, c.Replicas[0])
				if what.silent {
					clk.Advance(probeAfter)
					clk.Pass(t, d.servers().probeTimeout(), 1)
				}
				require.Error(t, <-ended)
				free()
				later = append(later, d.awaitLater(t, clk, fmt.Sprintf("after %d", i)))
				what.end(t, c.Replicas[0])
				d.awaitOwn(t, clk)
			}
			primary := server(t, c.PrimaryURL())
			require.Empty(t, primary.mustQuery(t, "SELECT v FROM t GROUP BY v HAVING count(*) > 1").values)
			stored := primary.mustQuery(t, "SELECT v FROM t WHERE v LIKE 'after %'").values
			for _, value := range later {
				require.Contains(t, stored, any(value))
			}
		})
	}
}

// sent receives a value for each message that was sent to the database's own server
// over HTTP.
func (d *Database) sent() chan struct{} {
	client := d.servers().all[0].server.client
	notifying := notifyingTransport{client.Transport.(*http.Transport), make(chan struct{}, 1000)}
	client.Transport = notifying
	return notifying.sent
}

type notifyingTransport struct {
	*http.Transport
	sent chan struct{}
}

func (t notifyingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	trace := &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { t.sent <- struct{}{} }}
	return t.Transport.RoundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
}

// lock takes the write lock of a primary until free is called.
func lock(t *testing.T, url string) (free func()) {
	t.Helper()
	connector, err := libsql.NewConnector(url)
	require.NoError(t, err)
	db := sql.OpenDB(connector)
	t.Cleanup(func() { _ = db.Close() })
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	_, err = conn.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	require.NoError(t, err)
	return func() {
		_, err := conn.ExecContext(t.Context(), "COMMIT")
		require.NoError(t, err)
		require.NoError(t, conn.Close())
	}
}

// A file has no fallbacks, and is not allowed as one.
func TestReplicas_FileHasNone(t *testing.T) {
	t.Parallel()
	for _, config := range []Config{
		{URL: "file:" + t.TempDir() + "/a.db", Fallbacks: []string{"ws://127.0.0.1:1"}},
		{URL: "ws://127.0.0.1:1", Fallbacks: []string{"file:" + t.TempDir() + "/a.db"}},
	} {
		_, err := Open(t.Context(), config)
		require.ErrorContains(t, err, "a database file neither has fallbacks nor is one")
	}
}
