package host

import (
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tursodatabase/libsql-client-go/libsql"

	"kith/backend/store/sqldtest"
)

// withFallback opens a database on the first of two replicas, with the second as
// its fallback.
func withFallback(t *testing.T, c *sqldtest.Cluster, scheme string) *database {
	t.Helper()
	url := func(r *sqldtest.Replica) string { return strings.Replace(r.URL(), "ws", scheme, 1) }
	d, err := openDatabase(t.Context(), Database{URL: url(c.Replicas[0]), Fallbacks: []string{url(c.Replicas[1])}}, Options{}.withDefaults(), newAtWork())
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.close() })
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
func (d *database) answered() (n []uint64) {
	for _, r := range d.replicas.all {
		n = append(n, r.reads.Load())
	}
	return append(n, d.replicas.none.Load())
}

// awaitOwn reads until the database's own server answers again.
func (d *database) awaitOwn(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(sqldtest.Deadline); ; {
		before := d.answered()[0]
		if _, err := d.query(t.Context(), []byte("SELECT v FROM t"), nil); err == nil && d.answered()[0] > before {
			return
		}
		require.True(t, time.Now().Before(end), "the own replica is not asked again")
		time.Sleep(20 * time.Millisecond)
	}
}

// away are the ways in which a server is away, and how it comes back.
var away = map[string]struct {
	leave, back func(*testing.T, *sqldtest.Replica)
}{
	"killed": {func(t *testing.T, r *sqldtest.Replica) { r.Kill(t) }, func(t *testing.T, r *sqldtest.Replica) { r.Start(t) }},
	"paused": {func(t *testing.T, r *sqldtest.Replica) { r.Pause(t) }, func(t *testing.T, r *sqldtest.Replica) { r.Resume(t) }},
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
				d := withFallback(t, c, scheme)
				const readers = 8 // with connections of their own
				all := func() time.Duration { return d.readAtOnce(t, readers) }
				all()
				require.Equal(t, []uint64{readers, 0, 0}, d.answered())
				what.leave(t, c.Replicas[0])
				require.Less(t, all(), readTime)
				require.Equal(t, []uint64{readers, readers, 0}, d.answered())
				require.Less(t, all(), readTime/2, "it is known to be away")
				require.Equal(t, []uint64{readers, 2 * readers, 0}, d.answered())
				what.back(t, c.Replicas[0])
				d.awaitOwn(t)
				all()
			})
		}
	}
}

// readAtOnce has several read the row of t, and returns how long that took.
func (d *database) readAtOnce(t *testing.T, readers int) time.Duration {
	t.Helper()
	began := time.Now()
	var done sync.WaitGroup
	for range readers {
		done.Go(func() {
			r, err := d.query(t.Context(), []byte("SELECT v FROM t"), nil)
			if assert.NoError(t, err) {
				assert.Equal(t, []any{"old"}, r.values)
			}
		})
	}
	done.Wait()
	return time.Since(began)
}

// Without any server a read fails in time, and those after it fail at once.
func TestReplicas_AllAway(t *testing.T) {
	t.Parallel()
	for how, what := range away {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			c := twoReplicas(t)
			d := withFallback(t, c, "ws")
			d.mustQuery(t, "SELECT v FROM t")
			for _, r := range c.Replicas {
				what.leave(t, r)
			}
			for _, within := range []time.Duration{2 * time.Second, readTime / 2} {
				began := time.Now()
				_, err := d.query(t.Context(), []byte("SELECT v FROM t"), nil)
				require.Error(t, err)
				require.Less(t, time.Since(began), within)
			}
			require.Equal(t, []uint64{1, 0, 2}, d.answered())
			began := time.Now()
			_, err := d.query(t.Context(), []byte("INSERT INTO t VALUES ('lost')"), nil)
			require.ErrorIs(t, err, errNotSent)
			require.Less(t, time.Since(began), 2*time.Second)
			for _, r := range c.Replicas {
				what.back(t, r)
			}
			d.mustQuery(t, "INSERT INTO t VALUES ('new')")
			d.awaitOwn(t)
			require.Equal(t, []any{"old", "new"}, server(t, c.PrimaryURL()).mustQuery(t, "SELECT v FROM t").values)
		})
	}
}

// A statement that one server cannot answer, as one that has not got the data yet,
// may be answered by another, and neither is away.
func TestReplicas_ServerThatHasNotGotIt(t *testing.T) {
	t.Parallel()
	c := twoReplicas(t)
	d := withFallback(t, c, "ws")
	c.Replicas[0].Hold(t)
	server(t, c.PrimaryURL()).mustQuery(t, "CREATE TABLE later AS SELECT 1 AS v")
	for end := time.Now().Add(sqldtest.Deadline); ; time.Sleep(20 * time.Millisecond) {
		r, err := d.query(t.Context(), []byte("SELECT v FROM later"), nil)
		if err == nil {
			require.Equal(t, []any{int64(1)}, r.values)
			break
		}
		require.ErrorContains(t, err, "no such table")
		require.True(t, time.Now().Before(end))
	}
	require.Len(t, d.replicas.present(), 2)
}

// A write that was sent is not sent again: the primary may carry it out although
// the server between is gone. Those that come after it go by way of the fallback.
func TestReplicas_WriteInFlightIsNotRepeated(t *testing.T) {
	t.Parallel()
	for how, what := range away {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			c := twoReplicas(t)
			d := withFallback(t, c, "ws")
			d.mustQuery(t, "INSERT INTO t VALUES ('before')")
			for i := range 5 {
				text := fmt.Sprintf("INSERT INTO t VALUES ('flight %d')", i)
				free := lock(t, c.PrimaryURL())
				failed := make(chan error)
				began := time.Now()
				go func() {
					_, err := d.query(t.Context(), []byte(text), nil)
					failed <- err
				}()
				time.Sleep(50 * time.Millisecond) // it waits for the primary's lock
				what.leave(t, c.Replicas[0])
				require.Error(t, <-failed)
				require.Less(t, time.Since(began), 2*time.Second)
				free()
				d.mustQuery(t, fmt.Sprintf("INSERT INTO t VALUES ('after %d')", i))
				what.back(t, c.Replicas[0])
				d.awaitOwn(t)
			}
			r := server(t, c.PrimaryURL()).mustQuery(t, "SELECT v, count(*) FROM t GROUP BY v HAVING count(*) > 1 OR v LIKE 'after %'")
			require.Equal(t, []any{"after 0", int64(1), "after 1", int64(1), "after 2", int64(1), "after 3", int64(1), "after 4", int64(1)}, r.values)
		})
	}
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
	for _, database := range []Database{
		{URL: "file:" + t.TempDir() + "/a.db", Fallbacks: []string{"ws://127.0.0.1:1"}},
		{URL: "ws://127.0.0.1:1", Fallbacks: []string{"file:" + t.TempDir() + "/a.db"}},
	} {
		_, err := openDatabase(t.Context(), database, Options{}.withDefaults(), newAtWork())
		require.ErrorContains(t, err, "a file neither has fallbacks nor is one")
	}
}
