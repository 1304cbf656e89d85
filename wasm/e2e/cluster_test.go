package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/store/sqldtest"
)

// fleet is Kith beyond one machine: a primary, two replicas, an edge beside
// each replica, two backends. The database servers ask for their token.
type fleet struct {
	cluster *sqldtest.Cluster
	// nodes are an edge and a backend each, all with one master key.
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

// bases are the addresses of all edges and backends.
func (f *fleet) bases() []string {
	return []string{f.nodes[0].edge, f.nodes[1].edge, f.nodes[0].backend, f.nodes[1].backend}
}

// auth is the tenant's API key as a header.
func (f *fleet) auth() string { return f.nodes[0].auth(f.tenant) }

func (f *fleet) api(base string) string { return base + "/api/v1/" + f.tenant }

// identify tells of a user at the first backend, and waits until all know.
func (f *fleet) identify(t testing.TB, id, body string) {
	t.Helper()
	f.nodes[0].identify(t, f.nodes[0].backend, f.tenant, id, body)
	f.cluster.WaitForSync(t)
}

// spread is how many senders of one key arrive together.
const spread = 200

// sendKey sends one event call with a key by way of base until it is answered
// 200 or 409, and returns which.
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

// race has many senders of one key, spread over all nodes, and meddles when so many
// of them were answered. It returns how often each status was the answer.
func (f *fleet) race(t *testing.T, key string, answered int, meddle func()) map[int]int {
	t.Helper()
	var meddled sync.WaitGroup
	var answers atomic.Int64
	meddled.Go(func() {
		await(t, func() error {
			if n := answers.Load(); n < int64(answered) {
				return fmt.Errorf("%d senders were answered", n)
			}
			return nil
		})
		meddle()
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
	meddled.Wait()
	count := map[int]int{}
	for _, r := range results {
		require.NoError(t, r.err)
		count[r.status]++
	}
	return count
}

// requireOnce asserts that a key's events were taken in once and processed once.
func (f *fleet) requireOnce(t *testing.T, key string) {
	t.Helper()
	db := f.nodes[0].open(t)
	require.Equal(t, 1, number(t, db, `SELECT count(*) FROM intake WHERE tenant = ? AND idempotency_key = ?`, f.tenant, key))
	waitProcessed(t, db)
}

// Guarantee: at most once, whoever sends and wherever.
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
	// A sender that was cut off sends again: then the one that was stored may
	// have been answered to nobody, and all are told 409.
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

// Guarantee: a replica may say yes, only the primary says no.
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

// Guarantee: the ledger never overdraws, over all nodes: of redemptions that are
// worth more than there is, as many succeed as there is credit for.
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

// Guarantee: what was changed through one edge is seen through the other; how soon
// is measured by BenchmarkFleet_Staleness. What was made new is seen at once, since
// an edge asks the backend for what its replica does not know.
func TestFleet_AnEditIsSeenByTheOtherEdge(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.identify(t, "anna", `{"referralCode":"ANNA10"}`)
	for i := range 20 {
		f.edit(t, fmt.Sprintf("Anna%d", i))
	}
}

// edit changes the name of Anna through the first edge and waits until the second
// tells it.
func (f *fleet) edit(t testing.TB, name string) {
	t.Helper()
	f.nodes[0].identify(t, f.nodes[0].edge, f.tenant, "anna", `{"firstName":"`+name+`"}`)
	await(t, func() error {
		a := mustCall(t, http.StatusOK, "GET", f.api(f.nodes[1].edge)+"/code/ANNA10", "", f.auth())
		if got := decode[struct{ ReferrerName string }](t, a).ReferrerName; got != name {
			return fmt.Errorf("the other edge says %s", got)
		}
		return nil
	})
}

// Guarantee: the edge goes on without the centre; how soon it says what it cannot is
// measured by BenchmarkFleet_Prompt.
func TestFleet_CentreIsAway(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
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

// Guarantee: an edge without its replica says so at once, and recovers by itself.
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
