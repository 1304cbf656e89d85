package e2e

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/store/sqldtest"
)

// away has the ways in which a replica becomes unavailable, and how it recovers: a killed
// replica refuses connections, a paused one accepts them and never answers.
var away = map[string]struct {
	leave, back func(testing.TB, *sqldtest.Replica)
}{
	"killed": {func(t testing.TB, r *sqldtest.Replica) { r.Kill(t) }, func(t testing.TB, r *sqldtest.Replica) { r.Start(t) }},
	"paused": {func(t testing.TB, r *sqldtest.Replica) { r.Pause(t) }, func(t testing.TB, r *sqldtest.Replica) { r.Resume(t) }},
}

// fallBack restarts the first edge with the other replica as its fallback, and returns its
// operations address. Only a timeout detects a paused replica, so the edge has the default
// time limits. On a busy machine a healthy replica may exceed them; the edge then answers
// 503 and the caller tries again.
func (f *fleet) fallBack(t testing.TB) (ops string) {
	t.Helper()
	ops = freeAddr(t)
	f.edges[0].kill()
	n := *f.nodes[0]
	n.env = nil
	f.edges[0] = n.serveEdge(t, "KITH_OPS_ADDR="+ops, "KITH_DATABASE_FALLBACK_URL="+f.cluster.Replicas[1].URL())
	return ops
}

// awaitReplica waits until the edge reads from a replica.
func awaitReplica(t testing.TB, ops string, replica float64) {
	t.Helper()
	awaitMetric(t, ops, "kith_replica_in_use", func(from float64) bool { return from == replica })
}

// Guarantee: an edge whose replica is unavailable reads and writes through another replica,
// also without the backends. If that is unavailable too, it calls the backend. It returns
// to its own replica automatically.
func TestFleet_AnotherReplicaIsRead(t *testing.T) {
	t.Parallel()
	for how, what := range away {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t)
			f.identify(t, "anna", `{"referralCode":"ANNA10"}`)
			ops := f.fallBack(t)
			edge, own, other := f.nodes[0].edge, f.cluster.Replicas[0], f.cluster.Replicas[1]
			events := 0
			works := func() {
				t.Helper()
				a := eventually(t, http.StatusFound, "GET", edge+"/s/"+f.tenant+"/ANNA10", "")
				require.Contains(t, a.header.Get("Set-Cookie"), "ANNA10")
				eventually(t, http.StatusOK, "GET", f.api(edge)+"/code/ANNA10", "", f.auth())
				events++
				_, err := f.sendKey(edge, fmt.Sprintf("event-%03d", events), fmt.Sprintf("event-%d", events))
				require.NoError(t, err)
				eventually(t, http.StatusOK, "GET", "http://"+ops+"/readyz", "")
			}
			works()
			awaitReplica(t, ops, 0)
			for _, b := range f.backends {
				b.kill()
			}
			what.leave(t, own)
			works()
			awaitReplica(t, ops, 1)
			awaitMetric(t, ops, "kith_replica_lag_seconds", func(lag float64) bool { return lag >= 0 })
			read := metric(t, ops, `kith_replica_reads_total{replica="0"}`)
			works()
			require.Equal(t, read, metric(t, ops, `kith_replica_reads_total{replica="0"}`))
			require.GreaterOrEqual(t, metric(t, ops, `kith_replica_reads_total{replica="1"}`), 6.0)

			what.leave(t, other)
			a := mustCall(t, http.StatusServiceUnavailable, "GET", edge+"/s/"+f.tenant+"/ANNA10", "")
			require.NotEmpty(t, a.header.Get("Retry-After"))
			awaitReplica(t, ops, -1)
			require.GreaterOrEqual(t, metric(t, ops, `kith_replica_reads_total{replica="none"}`), 1.0)
			mustCall(t, http.StatusServiceUnavailable, "GET", "http://"+ops+"/readyz", "")
			f.nodes[0].serve(t)
			eventually(t, http.StatusFound, "GET", edge+"/s/"+f.tenant+"/ANNA10", "")

			what.back(t, other)
			awaitReplica(t, ops, 1)
			works()
			what.back(t, own)
			awaitReplica(t, ops, 0)
			works()
			db := f.nodes[0].open(t)
			waitProcessed(t, db)
			require.Equal(t, events, number(t, db, `SELECT count(*) FROM event WHERE tenant = ?`, f.tenant))
		})
	}
}

// Guarantee: a write through a replica that is killed or paused meanwhile is stored once or
// not at all, and once if it was answered with 200.
func TestFleet_WriteInFlightIsNotRepeated(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.identify(t, "anna", `{}`)
	ops := f.fallBack(t)
	var (
		senders  sync.WaitGroup
		mu       sync.Mutex
		answered = map[string]int{}
		count    = map[int]int{} // by status
		end      = make(chan struct{})
	)
	for sender := range 8 {
		senders.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-end:
					return
				default:
				}
				key := fmt.Sprintf("event-%d-%d.x", sender, i) // no idempotency key, so that a repeated write would be stored twice
				a, err := f.nodes[0].sendEvents(f.nodes[0].edge, f.tenant, "anna", `{"events":[{"key":"`+key+`"}]}`)
				if err != nil {
					a.status = -1
				}
				mu.Lock()
				answered[key] = a.status
				count[a.status]++
				mu.Unlock()
			}
		})
	}
	counted := func(status int) int {
		mu.Lock()
		defer mu.Unlock()
		return count[status]
	}
	sends := func() {
		t.Helper()
		before := counted(http.StatusOK)
		await(t, func() error {
			if n := counted(http.StatusOK) - before; n < 50 {
				return fmt.Errorf("%d calls were answered", n)
			}
			return nil
		})
	}
	begin := time.Now()
	for round := 0; round < 3 || counted(http.StatusServiceUnavailable) == 0; round++ {
		require.Less(t, time.Since(begin), 5*deadline, "no write was in flight, in %d rounds", round)
		for _, how := range []string{"killed", "paused"} {
			sends()
			away[how].leave(t, f.cluster.Replicas[0])
			awaitReplica(t, ops, 1)
			sends()
			away[how].back(t, f.cluster.Replicas[0])
			awaitReplica(t, ops, 0)
		}
	}
	close(end)
	senders.Wait()
	db := f.nodes[0].open(t)
	waitProcessed(t, db)
	require.Empty(t, texts(t, db, `SELECT key FROM event WHERE tenant = ? GROUP BY key HAVING count(*) > 1`, f.tenant))
	stored := map[string]bool{}
	for _, key := range texts(t, db, `SELECT key FROM event WHERE tenant = ?`, f.tenant) {
		stored[key] = true
	}
	for key, status := range answered {
		if status == http.StatusOK {
			require.True(t, stored[key], "%s was answered 200", key)
		}
	}
	t.Logf("answers by status: %v, %d events stored", count, len(stored))
	require.Len(t, count, 2, "all others were answered with 503: %v", count)
}

// An edge starts on its fallback while its replica is unavailable, but not if the fallback
// has another schema.
func TestFleet_StartsOnTheFallback(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.identify(t, "anna", `{"referralCode":"ANNA10"}`)
	for _, b := range f.backends {
		b.kill()
	}
	f.cluster.Replicas[0].Pause(t)
	f.fallBack(t)
	eventually(t, http.StatusFound, "GET", f.nodes[0].edge+"/s/"+f.tenant+"/ANNA10", "")
	f.edges[0].kill()
	_, err := f.nodes[0].open(t).Exec(`INSERT INTO schema_version (version, applied_at) VALUES (9999, 0)`)
	require.NoError(t, err)
	f.cluster.Replicas[0].Resume(t)
	f.cluster.WaitForSync(t)
	f.cluster.Replicas[0].Kill(t)
	edge := f.nodes[0].command(t, "edge")
	edge.Env = append(edge.Env, "KITH_DATABASE_URL="+f.nodes[0].edgeDatabase, "KITH_DATABASE_FALLBACK_URL="+f.cluster.Replicas[1].URL())
	out, err := edge.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "the database has schema 9999, and this kith knows ")
}

// A file has no fallback, and is not allowed as one.
func TestCLI_FallbackIsAServer(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	for _, env := range [][]string{
		{"KITH_DATABASE_FALLBACK_URL=ws://127.0.0.1:1"},
		{"KITH_DATABASE_URL=ws://127.0.0.1:1", "KITH_DATABASE_FALLBACK_URL=ws://127.0.0.1:2,file:a.db"},
	} {
		edge := s.command(t, "edge")
		edge.Env = append(edge.Env, env...)
		out, err := edge.CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), "database-fallback-url")
	}
}
