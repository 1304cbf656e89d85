package libsql

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sqlite3 "modernc.org/sqlite/lib"

	"kith/backend/store/sqldtest"
	"kith/backend/testenv/manualclock"
)

// While the primary is away, the writes that wait fail when the first of them has waited
// for the longest time, and later ones fail at once. When the primary is back, writes are
// accepted without any call that was made meanwhile.
func TestBreaker_PrimaryIsAway(t *testing.T) {
	t.Parallel()
	for how, what := range map[string]struct{ begin, end func(*sqldtest.Cluster) }{
		// The replica copies the database again, and breaks off the writes that it forwards when
		// it begins to: they may or may not have run.
		"killed": {func(c *sqldtest.Cluster) { c.KillPrimary(t) }, func(c *sqldtest.Cluster) {
			resets := c.Replicas[0].Resets(t)
			c.StartPrimary(t)
			eventually(t, func() bool { return c.Replicas[0].Resets(t) > resets })
		}},
		"paused": {func(c *sqldtest.Cluster) { c.PausePrimary(t) }, func(c *sqldtest.Cluster) { c.ResumePrimary(t) }},
	} {
		for _, scheme := range []string{"ws", "http"} {
			t.Run(how+", "+scheme, func(t *testing.T) {
				t.Parallel()
				c := sqldtest.StartWith(t, sqldtest.Options{Replicas: 1})
				server(t, c.PrimaryURL()).mustQuery(t, "CREATE TABLE t (v TEXT UNIQUE)")
				c.WaitForSync(t)
				clk := manualclock.New()
				config := Config{URL: strings.Replace(c.ReplicaURL(), "ws", scheme, 1), WriteTimeout: 1500 * time.Millisecond, clock: manual(clk)}
				d, err := Open(t.Context(), config)
				require.NoError(t, err)
				t.Cleanup(func() { _ = d.Close() })
				d.mustQuery(t, "INSERT INTO t VALUES ('before')")
				c.WaitForSync(t)
				what.begin(c)
				const waiting = 200
				var ended []chan error
				for i := range waiting {
					ended = append(ended, d.start(t, fmt.Sprintf("INSERT INTO t VALUES ('waiting %d')", i)))
				}
				clk.Pass(t, config.WriteTimeout, 1)
				for _, e := range ended {
					require.Error(t, <-e)
				}
				asked := clk.Total(config.WriteTimeout)
				require.ErrorIs(t, <-d.start(t, "INSERT INTO t VALUES ('refused')"), ErrRefused)
				require.Equal(t, asked, clk.Total(config.WriteTimeout), "a refused write does not wait")
				require.Equal(t, []any{"before"}, d.mustQuery(t, "SELECT v FROM t WHERE v = 'before'").values, "reads continue")
				what.end(c)
				clk.AdvanceUntil(t, probePause, func() bool { return !d.write.breaker.IsOpen() })
				d.awaitWrite(t, clk, "INSERT INTO t VALUES ('after')")
				r := server(t, c.PrimaryURL()).mustQuery(t, "SELECT v FROM t WHERE v IN ('before', 'refused', 'after') ORDER BY 1")
				require.Equal(t, []any{"after", "before"}, r.values)
			})
		}
	}
}

// A lock that another process holds for too long has the same effect, on a server and on a
// file. A statement that waited for it did not run on a file, unless its error says that it may
// have: its last attempt may meet the lock when that is free again.
func TestBreaker_LockIsHeld(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{"server": sqldtest.Start(t).PrimaryURL(), "file": "file:" + filepath.Join(t.TempDir(), "a.db")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server(t, url).mustQuery(t, "CREATE TABLE t (v)")
			clk := manualclock.New()
			config := Config{URL: url, WriteTimeout: 1500 * time.Millisecond, clock: manual(clk)}
			d, err := Open(t.Context(), config)
			require.NoError(t, err)
			t.Cleanup(func() { _ = d.Close() })
			free := lock(t, url)
			one, other := d.start(t, "INSERT INTO t VALUES ('one')"), d.start(t, "INSERT INTO t VALUES ('other')")
			clk.Pass(t, config.WriteTimeout, 2)
			// One of them may still wait for the other. On a file, the writer ends a statement
			// that no caller awaits: its own error may arrive at the same time.
			mayHaveRun := []any{"after"}
			for value, ended := range map[string]<-chan error{"one": one, "other": other} {
				err := <-ended
				locked := name == "file" && codeOf(err) == sqlite3.SQLITE_BUSY
				require.True(t, errors.Is(err, errLate) || errors.Is(err, errNotRun) || locked, "%v", err)
				if errors.Is(err, errLate) {
					mayHaveRun = append(mayHaveRun, value)
				}
			}
			require.ErrorIs(t, <-d.start(t, "INSERT INTO t VALUES ('refused')"), ErrRefused)
			free()
			clk.AdvanceUntil(t, d.source.probePause(), func() bool { return !d.write.breaker.IsOpen() })
			d.mustQuery(t, "INSERT INTO t VALUES ('after')")
			if name == "file" {
				stored := d.mustQuery(t, "SELECT v FROM t").values
				require.Contains(t, stored, any("after"))
				require.Subset(t, mayHaveRun, stored)
				require.Empty(t, d.mustQuery(t, "SELECT v FROM t GROUP BY v HAVING count(*) > 1").values)
			}
		})
	}
}

// An error of a statement leaves the breaker closed.
func TestBreaker_StatementFails(t *testing.T) {
	t.Parallel()
	for _, url := range []string{sqldtest.StartWith(t, sqldtest.Options{Replicas: 1}).ReplicaURL(), "file:" + filepath.Join(t.TempDir(), "a.db")} {
		d := server(t, url)
		d.mustQuery(t, "CREATE TABLE t (v TEXT UNIQUE)")
		for range 3 {
			_, _ = d.query(t.Context(), []byte("INSERT INTO t VALUES ('same')"), nil)
			_, err := d.query(t.Context(), []byte("INSERT INTO t VALUES ('same')"), nil)
			require.ErrorContains(t, err, "UNIQUE constraint failed")
			require.False(t, d.write.breaker.IsOpen())
		}
	}
}

// A breaker that opens while no group runs is closed by a probe, too.
func TestBreaker_OpensWhileIdle(t *testing.T) {
	t.Parallel()
	d := server(t, "file:"+filepath.Join(t.TempDir(), "a.db"))
	d.mustQuery(t, "CREATE TABLE t (v)")
	for range 1000 {
		d.write.breaker.Open(errLate)
		eventually(t, func() bool { return !d.write.breaker.IsOpen() })
	}
	d.mustQuery(t, "INSERT INTO t VALUES (1)")
}
