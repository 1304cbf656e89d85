package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/store/sqldtest"
)

// fleet is a distributed set-up of Kith: a primary, two replicas, an edge with each
// replica, and two backends. The database servers require their token.
type fleet struct {
	cluster *sqldtest.Cluster
	// nodes have an edge and a backend each, all with the same master key.
	nodes    [2]*site
	edges    [2]*process
	backends [2]*process
	tenant   string
}

func newFleet(t testing.TB) *fleet {
	t.Helper()
	f := &fleet{cluster: sqldtest.StartWith(t, sqldtest.Options{Replicas: 2, Auth: true})}
	for i := range f.nodes {
		s := newSite(t)
		s.backendDatabase, s.edgeDatabase, s.databaseToken = f.cluster.PrimaryURL(), f.cluster.Replicas[i].URL(), f.cluster.Token()
		if i > 0 {
			s.data, s.keys = f.nodes[0].data, f.nodes[0].keys
		}
		f.nodes[i] = s
	}
	f.tenant = alias(t, f.nodes[0], "fleet")
	for i, s := range f.nodes {
		f.backends[i] = s.serve(t)
		f.edges[i] = s.serveEdge(t)
	}
	return f
}

// bases returns the addresses of all edges and backends.
func (f *fleet) bases() []string {
	return []string{f.nodes[0].edge, f.nodes[1].edge, f.nodes[0].backend, f.nodes[1].backend}
}

// auth returns the tenant's API key as a header.
func (f *fleet) auth() string { return f.nodes[0].auth(f.tenant) }

func (f *fleet) api(base string) string { return base + "/api/v1/" + f.tenant }

// identify identifies a user at the first backend, and waits until all nodes see it.
func (f *fleet) identify(t testing.TB, id, body string) {
	t.Helper()
	f.nodes[0].identify(t, f.nodes[0].backend, f.tenant, id, body)
	f.cluster.WaitForSync(t)
}

// spread is how many senders send the same key at the same time.
const spread = 200

// sendKey sends one event call with a key to base until it is answered with 200 or 409,
// and returns the status.
func (f *fleet) sendKey(base, key, event string) (int, error) {
	body := fmt.Sprintf(`{"idempotencyKey":%q,"events":[{"key":%q}]}`, key, event)
	for end := time.Now().Add(deadline); ; time.Sleep(20 * time.Millisecond) {
		a, err := f.nodes[0].sendEvents(base, f.tenant, "anna", body)
		switch {
		case err == nil && (a.status == http.StatusOK || a.status == http.StatusConflict):
			return a.status, nil
		case time.Now().After(end):
			return 0, fmt.Errorf("%s: %d %s %w", base, a.status, a.body, err)
		case err == nil && a.status < 500:
			return 0, fmt.Errorf("%s: %d %s", base, a.status, a.body)
		}
	}
}

// race sends the same key from many senders to all nodes, and calls interfere once the
// given number of them were answered. It returns the number of answers by status.
func (f *fleet) race(t *testing.T, key string, answered int, interfere func()) map[int]int {
	t.Helper()
	var interfered sync.WaitGroup
	var answers atomic.Int64
	interfered.Go(func() {
		await(t, func() error {
			if n := answers.Load(); n < int64(answered) {
				return fmt.Errorf("%d senders were answered", n)
			}
			return nil
		})
		interfere()
	})
	type result struct {
		status int
		err    error
	}
	bases := f.bases()
	results := atOnce(spread, func(i int) result {
		status, err := f.sendKey(bases[i%len(bases)], key, fmt.Sprintf("sender-%d", i))
		answers.Add(1)
		return result{status, err}
	})
	interfered.Wait()
	count := map[int]int{}
	for _, r := range results {
		require.NoError(t, r.err)
		count[r.status]++
	}
	return count
}

// requireOnce asserts that a key's events were stored once and processed once.
func (f *fleet) requireOnce(t *testing.T, key string) {
	t.Helper()
	db := f.nodes[0].open(t)
	require.Equal(t, 1, number(t, db, `SELECT count(*) FROM intake WHERE tenant = ? AND idempotency_key = ?`, f.tenant, key))
	waitProcessed(t, db)
}

// Guarantee: events are recorded at most once, whichever sender sends them to whichever node.
func TestFleet_OneKeyFromManySenders(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.identify(t, "anna", `{}`)
	events := 0
	check := func(t *testing.T, key string, accepted int) {
		f.requireOnce(t, key)
		events++
		require.Equal(t, events, number(t, f.nodes[0].open(t), `SELECT count(*) FROM event WHERE tenant = ?`, f.tenant))
		require.Equal(t, 1, accepted)
	}
	t.Run("all well", func(t *testing.T) {
		got := f.race(t, "all-well-1", 0, func() {})
		require.Equal(t, map[int]int{http.StatusOK: 1, http.StatusConflict: spread - 1}, got)
		check(t, "all-well-1", got[http.StatusOK])
	})
	t.Run("a replica is held back", func(t *testing.T) {
		f.cluster.Replicas[1].Disconnect(t)
		// Half of the senders need nothing of the replica.
		got := f.race(t, "held-back-1", spread/2, func() { f.cluster.Replicas[1].Reconnect(t) })
		check(t, "held-back-1", got[http.StatusOK])
	})
	// A sender whose connection broke sends again. Its stored call may have been
	// answered to no sender; then all get 409.
	for name, kill := range map[string]func(){
		"replica": func() { f.cluster.Replicas[0].Kill(t); f.cluster.Replicas[0].Start(t) },
		"backend": func() { f.backends[1].kill(); f.backends[1] = f.nodes[1].serve(t) },
		"primary": func() { f.cluster.KillPrimary(t); f.cluster.StartPrimary(t) },
	} {
		t.Run("the "+name+" is killed and restarted", func(t *testing.T) {
			key := "killed-" + name
			got := f.race(t, key, rand.IntN(spread/2), kill)
			f.requireOnce(t, key)
			events++
			require.Equal(t, events, number(t, f.nodes[0].open(t), `SELECT count(*) FROM event WHERE tenant = ?`, f.tenant))
			require.LessOrEqual(t, got[http.StatusOK], 1)
		})
	}
}

// Guarantee: an answer that something does not exist is never based on a replica alone.
func TestFleet_WhatAReplicaDoesNotKnowIsNotDenied(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.cluster.WaitForSync(t)
	f.cluster.Replicas[0].Disconnect(t)
	f.nodes[0].identify(t, f.nodes[0].backend, f.tenant, "anna", `{"referralCode":"ANNA10"}`)
	late := alias(t, f.nodes[0], "late")
	f.nodes[0].identify(t, f.nodes[0].backend, late, "ben", `{"referralCode":"BEN20"}`)
	edge := f.nodes[0].edge
	mustCall(t, http.StatusOK, "GET", f.api(edge)+"/code/ANNA10", "", f.auth())
	mustCall(t, http.StatusOK, "GET", f.api(edge)+"/open/account/anna/user/anna", "", f.auth())
	mustCall(t, http.StatusOK, "POST", f.api(edge)+"/open/account/anna/user/anna/events", `{"events":[{"key":"visit"}]}`, f.auth())
	a := mustCall(t, http.StatusFound, "GET", edge+"/s/"+late+"/BEN20", "")
	require.Contains(t, a.header.Get("Location"), "rsCode=BEN20")
	mustCall(t, http.StatusOK, "GET", edge+"/api/v1/"+late+"/code/BEN20", "", f.nodes[0].auth(late))
}

// Guarantee: first code wins and first PAID converts, over all nodes.
func TestFleet_FirstCodeAndFirstPaid(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	for i := range senders {
		f.nodes[0].identify(t, f.nodes[0].backend, f.tenant, "anna", fmt.Sprintf(`{"referralCode":"ANNA%d"}`, i))
	}
	bases := f.bases()
	answers := atOnce(senders, func(i int) outcome {
		a, err := call("PUT", f.api(bases[i%len(bases)])+"/open/account/ben/user/ben", fmt.Sprintf(`{"referredByCodes":["ANNA%d"],"account_status":"PAID"}`, i), f.auth())
		return outcome{a, err}
	})
	require.Equal(t, map[int]int{http.StatusOK: senders}, statuses(t, answers))
	db := f.nodes[0].open(t)
	require.Equal(t, []string{"converted"}, texts(t, db, `SELECT state FROM referral WHERE tenant = ?`, f.tenant))
	require.Equal(t, []string{"anna FRIEND_SIGNUP", "ben REFERRED"},
		texts(t, db, `SELECT account_id || ' ' || source FROM reward WHERE tenant = ? ORDER BY 1`, f.tenant))
}

// Guarantee: the ledger never overdraws, over all nodes: of redemptions that exceed the
// credit together, only as many succeed as the credit covers.
func TestFleet_LedgerNeverOverdraws(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.identify(t, "anna", `{}`)
	const balance, amount = 1000, 25
	for range 2 {
		mustCall(t, http.StatusCreated, "POST", f.api(f.nodes[0].edge)+"/rewards/account/anna/user/anna",
			fmt.Sprintf(`{"type":"CREDIT","unit":"POINT","assignedCredit":%d}`, balance/2), f.auth())
	}
	bases := f.bases()
	answers := atOnce(senders, func(i int) outcome {
		a, err := call("POST", f.api(bases[i%len(bases)])+"/credit/bulkredeem",
			fmt.Sprintf(`{"accountId":"anna","unit":"POINT","amount":%d}`, amount), f.auth())
		return outcome{a, err}
	})
	require.Equal(t, map[int]int{http.StatusOK: balance / amount, http.StatusBadRequest: senders - balance/amount}, statuses(t, answers))
	for _, base := range bases {
		a := mustCall(t, http.StatusOK, "GET", f.api(base)+"/reward/balance?accountId=anna", "", f.auth())
		got := decode[[]struct{ TotalAssignedCredit, TotalRedeemedCredit int }](t, a)
		require.Len(t, got, 1)
		require.Equal(t, balance, got[0].TotalAssignedCredit)
		require.Equal(t, balance, got[0].TotalRedeemedCredit)
	}
	db := f.nodes[0].open(t)
	require.Equal(t, -balance, number(t, db, `SELECT sum(amount) FROM reward_ledger WHERE tenant = ? AND action = 'redeem'`, f.tenant))
}

// Guarantee: a change through one edge is seen through the other; BenchmarkFleet_Staleness
// measures how soon. New records are seen at once, since an edge asks the backend for
// records that its replica does not have.
func TestFleet_AnEditIsSeenByTheOtherEdge(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.identify(t, "anna", `{"referralCode":"ANNA10"}`)
	for i := range 20 {
		f.edit(t, fmt.Sprintf("Anna%d", i))
	}
}

// edit changes the name of Anna through the first edge and waits until the second returns
// it.
func (f *fleet) edit(t testing.TB, name string) {
	t.Helper()
	f.nodes[0].identify(t, f.nodes[0].edge, f.tenant, "anna", `{"firstName":"`+name+`"}`)
	await(t, func() error {
		a := mustCall(t, http.StatusOK, "GET", f.api(f.nodes[1].edge)+"/code/ANNA10", "", f.auth())
		if got := decode[struct{ ReferrerName string }](t, a).ReferrerName; got != name {
			return fmt.Errorf("the other edge returns %s", got)
		}
		return nil
	})
}

// Guarantee: an edit is seen through each edge also after the primary was killed. Its
// replicas then copy the database again, and answer from the old one on open streams.
func TestFleet_AnEditIsSeenAfterThePrimaryWasKilled(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.identify(t, "anna", `{"referralCode":"ANNA10"}`)
	f.edit(t, "Anna")
	for i := range 3 {
		f.cluster.KillPrimary(t)
		f.cluster.StartPrimary(t)
		name := fmt.Sprintf("Anna%d", i)
		eventually(t, http.StatusOK, "PUT", f.api(f.nodes[0].edge)+"/open/account/anna/user/anna", `{"firstName":"`+name+`"}`, f.auth())
		for _, n := range f.nodes {
			await(t, func() error {
				a, err := call("GET", f.api(n.edge)+"/code/ANNA10", "", f.auth())
				if err == nil && !strings.Contains(a.body, `"`+name+`"`) {
					err = fmt.Errorf("an edge answers %d %s", a.status, a.body)
				}
				return err
			})
		}
	}
}

// Guarantee: the edge works without the primary and the backends. BenchmarkFleet_Prompt
// measures how soon it refuses calls that need them.
func TestFleet_CentreIsAway(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.edges[0].stop(t)
	// A replica keeps a write for as long as its caller waits.
	f.edges[0] = f.nodes[0].serveEdge(t, "KITH_WRITE_TIMEOUT=10s")
	f.identify(t, "anna", `{"referralCode":"ANNA10"}`)
	edge := f.nodes[0].edge
	events := func(status int, key string) answer {
		return mustCall(t, status, "POST", f.api(edge)+"/open/account/anna/user/anna/events",
			`{"idempotencyKey":"`+key+`","events":[{"key":"`+key+`"}]}`, f.auth())
	}
	reads := func() {
		a := mustCall(t, http.StatusFound, "GET", edge+"/s/"+f.tenant+"/ANNA10", "")
		require.Contains(t, a.header.Get("Set-Cookie"), "ANNA10")
		mustCall(t, http.StatusOK, "GET", f.api(edge)+"/code/ANNA10", "", f.auth())
	}
	for _, b := range f.backends {
		b.kill()
	}
	reads()
	events(http.StatusOK, "without-backends")

	f.cluster.KillPrimary(t)
	reads()
	a := events(http.StatusServiceUnavailable, "without-primary")
	require.NotEmpty(t, a.header.Get("Retry-After"))
	f.cluster.StartPrimary(t)
	await(t, func() error {
		a, err := f.nodes[0].sendEvents(edge, f.tenant, "anna", `{"idempotencyKey":"primary-is-back","events":[{"key":"primary-is-back"}]}`)
		if err == nil && a.status != http.StatusOK && a.status != http.StatusConflict {
			err = fmt.Errorf("%d %s", a.status, a.body)
		}
		return err
	})
	f.nodes[0].serve(t)
	db := f.nodes[0].open(t)
	waitProcessed(t, db)
	require.Subset(t, texts(t, db, `SELECT key FROM event WHERE tenant = ?`, f.tenant), []string{"without-backends", "primary-is-back"})
}

// Guarantee: an edge without its replica refuses calls at once, and recovers automatically.
func TestFleet_ReplicaIsAway(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.identify(t, "anna", `{"referralCode":"ANNA10"}`)
	edge := f.nodes[0].edge
	mustCall(t, http.StatusFound, "GET", edge+"/s/"+f.tenant+"/ANNA10", "")
	f.cluster.Replicas[0].Kill(t)
	mustCall(t, http.StatusFound, "GET", edge+"/s/"+f.tenant+"/ANNA10", "")
	mustCall(t, http.StatusOK, "GET", f.api(edge)+"/code/ANNA10", "", f.auth())
	for _, b := range f.backends {
		b.kill()
	}
	a := mustCall(t, http.StatusServiceUnavailable, "GET", edge+"/s/"+f.tenant+"/ANNA10", "")
	require.NotEmpty(t, a.header.Get("Retry-After"))
	f.cluster.Replicas[0].Start(t)
	await(t, func() error {
		a, err := call("GET", edge+"/s/"+f.tenant+"/ANNA10", "")
		if err == nil && a.status != http.StatusFound {
			err = fmt.Errorf("%d %s", a.status, a.body)
		}
		return err
	})
}
