package libsql

import (
	"database/sql"
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
// its fallback. Its time is that of the clock.
func withFallback(t *testing.T, c *sqldtest.Cluster, scheme string, clk *manualclock.Clock) *Database {
	t.Helper()
	url := func(r *sqldtest.Replica) string { return strings.Replace(r.URL(), "ws", scheme, 1) }
	d, err := Open(t.Context(), Config{URL: url(c.Replicas[0]), Fallbacks: []string{url(c.Replicas[1])}, clock: manual(clk)})
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// twoReplicas is a cluster with a table t of one row, which both have.
func twoReplicas(t *testing.T) *sqldtest.Cluster {
	t.Helper()
	c := sqldtest.StartWith(t, sqldtest.Options{Replicas: 2})
	primary := server(t, c.PrimaryURL())
	primary.mustQuery(t, "CREATE TABLE t (v)")
	primary.mustQuery(t, "INSERT INTO t VALUES ('old')")
	c.WaitForSync(t)
	return c
}

// answered are the reads that each server has answered, and at the end those
// that none did.
func (d *Database) answered() (n []uint64) {
	for _, r := range d.servers().all {
		n = append(n, r.reads.Load())
	}
	return append(n, d.servers().failed.Load())
}

// awaitOwn reads until the database's own server answers again, which a probe is
// to find out.
func (d *Database) awaitOwn(t *testing.T, clk *manualclock.Clock) {
	t.Helper()
	eventually(t, func() bool {
		if clk.Running(probePause) > 0 {
			clk.Advance(probePause)
		}
		before := d.answered()[0]
		_, err := d.query(t.Context(), []byte("SELECT v FROM t"), nil)
		return err == nil && d.answered()[0] > before
	}, "the own replica is not asked again")
}

// away are the ways in which a server is away, and how it comes back. One that is
// silent takes what is sent and answers nothing: only a deadline tells.
var away = map[string]struct {
	leave, back func(*testing.T, *sqldtest.Replica)
	silent      bool
}{
	"killed": {func(t *testing.T, r *sqldtest.Replica) { r.Kill(t) }, func(t *testing.T, r *sqldtest.Replica) { r.Start(t) }, false},
	"paused": {func(t *testing.T, r *sqldtest.Replica) { r.Pause(t) }, func(t *testing.T, r *sqldtest.Replica) { r.Resume(t) }, true},
}

// While the own server is away reads go to the fallback. Only those that were on
// their way pay for it, and the own one is asked again when it is back.
func TestReplicas_ReadsGoToTheFallback(t *testing.T) {
	t.Parallel()
	for how, what := range away {
		for _, scheme := range []string{"ws", "http"} {
			t.Run(how+", "+scheme, func(t *testing.T) {
				t.Parallel()
				c := twoReplicas(t)
				clk := manualclock.New()
				d := withFallback(t, c, scheme, clk)
				share := d.servers().readTimeout / 2
				const readers = 8 // with connections of their own
				d.readAtOnce(t, readers)()
				require.Equal(t, []uint64{readers, 0, 0}, d.answered())
				what.leave(t, c.Replicas[0])
				done := d.readAtOnce(t, readers)
				if what.silent {
					clk.Pass(t, share, readers)
				}
				done()
				require.Equal(t, []uint64{readers, readers, 0}, d.answered())
				asked := clk.Total(share)
				d.readAtOnce(t, readers)()
				require.Equal(t, asked, clk.Total(share), "it is known to be away, and gets no share of the time")
				require.Equal(t, []uint64{readers, 2 * readers, 0}, d.answered())
				what.back(t, c.Replicas[0])
				d.awaitOwn(t, clk)
				d.readAtOnce(t, readers)()
			})
		}
	}
}

// readAtOnce has several read the row of t. The function that it returns waits
// until they have.
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

// Without any server a read fails when its time is over, those after it fail at
// once, and a write fails when all servers were probed.
func TestReplicas_AllAway(t *testing.T) {
	t.Parallel()
	for how, what := range away {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			c := twoReplicas(t)
			clk := manualclock.New()
			d := withFallback(t, c, "ws", clk)
			share := d.servers().readTimeout / 2
			d.mustQuery(t, "SELECT v FROM t")
			for _, r := range c.Replicas {
				what.leave(t, r)
			}
			began, failed := clk.Now(), d.start(t, "SELECT v FROM t")
			if what.silent {
				clk.Pass(t, share, 1)
				clk.Pass(t, share, 1)
				require.Equal(t, d.servers().readTimeout, clk.Now().Sub(began), "the time is that of both servers")
			}
			require.Error(t, <-failed)
			require.ErrorIs(t, <-d.start(t, "SELECT v FROM t"), errAway, "nobody is asked")
			require.Equal(t, []uint64{1, 0, 2}, d.answered())
			failed = d.start(t, "INSERT INTO t VALUES ('lost')")
			if what.silent {
				clk.Pass(t, d.servers().probeTimeout(), 2)
			}
			require.ErrorIs(t, <-failed, errNotSent)
			for _, r := range c.Replicas {
				what.back(t, r)
			}
			d.mustQuery(t, "INSERT INTO t VALUES ('new')")
			d.awaitOwn(t, clk)
			require.Equal(t, []any{"old", "new"}, server(t, c.PrimaryURL()).mustQuery(t, "SELECT v FROM t").values)
		})
	}
}

// start begins a statement, and returns where its error will be.
func (d *Database) start(t *testing.T, text string) (ended chan error) {
	ended = make(chan error, 1)
	go func() {
		_, err := d.query(t.Context(), []byte(text), nil)
		ended <- err
	}()
	return ended
}

// A statement that one server cannot answer, as one that has not got the data yet,
// may be answered by another, and neither is away.
func TestReplicas_ServerThatHasNotGotIt(t *testing.T) {
	t.Parallel()
	c := twoReplicas(t)
	d := withFallback(t, c, "ws", manualclock.New())
	c.Replicas[0].Hold(t)
	server(t, c.PrimaryURL()).mustQuery(t, "CREATE TABLE later AS SELECT 1 AS v")
	eventually(t, func() bool {
		r, err := d.query(t.Context(), []byte("SELECT v FROM later"), nil)
		if err != nil {
			assert.ErrorContains(t, err, "no such table")
			return false
		}
		return assert.Equal(t, []any{int64(1)}, r.values)
	})
	require.Len(t, d.servers().present(), 2)
}

// A write that was sent is not sent again: the primary may carry it out although
// the server between is gone. Those that come after it go by way of the fallback.
func TestReplicas_WriteInFlightIsNotRepeated(t *testing.T) {
	t.Parallel()
	for how, what := range away {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			c := twoReplicas(t)
			clk := manualclock.New()
			d := withFallback(t, c, "ws", clk)
			sent := d.sent()
			for i := range 5 {
				free := lock(t, c.PrimaryURL())
				for len(sent) > 0 {
					<-sent
				}
				ended := d.start(t, fmt.Sprintf("INSERT INTO t VALUES ('flight %d')", i))
				<-sent
				// It waits for the primary's lock, while its server answers a probe.
				clk.Pass(t, probeAfter, 1)
				eventually(t, func() bool { return clk.Running(probeAfter) == 1 })
				what.leave(t, c.Replicas[0])
				if what.silent {
					clk.Advance(probeAfter)
					clk.Pass(t, d.servers().probeTimeout(), 1)
				}
				require.Error(t, <-ended)
				free()
				d.mustQuery(t, fmt.Sprintf("INSERT INTO t VALUES ('after %d')", i))
				what.back(t, c.Replicas[0])
				d.awaitOwn(t, clk)
			}
			r := server(t, c.PrimaryURL()).mustQuery(t, "SELECT v, count(*) FROM t GROUP BY v HAVING count(*) > 1 OR v LIKE 'after %'")
			require.Equal(t, []any{"after 0", int64(1), "after 1", int64(1), "after 2", int64(1), "after 3", int64(1), "after 4", int64(1)}, r.values)
		})
	}
}

// sent tells of each message that went out to the database's own server over HTTP.
func (d *Database) sent() chan struct{} {
	client := d.servers().all[0].server.client
	told := tellingTransport{client.Transport.(*http.Transport), make(chan struct{}, 1000)}
	client.Transport = told
	return told.sent
}

type tellingTransport struct {
	*http.Transport
	sent chan struct{}
}

func (t tellingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	trace := &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { t.sent <- struct{}{} }}
	return t.Transport.RoundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
}

// lock takes the lock of a primary, until it is told to free it.
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

// A file is no server: it has no fallbacks, and is none.
func TestReplicas_FileHasNone(t *testing.T) {
	t.Parallel()
	for _, config := range []Config{
		{URL: "file:" + t.TempDir() + "/a.db", Fallbacks: []string{"ws://127.0.0.1:1"}},
		{URL: "ws://127.0.0.1:1", Fallbacks: []string{"file:" + t.TempDir() + "/a.db"}},
	} {
		_, err := Open(t.Context(), config)
		require.ErrorContains(t, err, "a file neither has fallbacks nor is one")
	}
}
