package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/client"
	"kith/backend/store/sqldtest"
	"kith/core/job"
)

// store is a shop that logs its orders as events: the processes of a site or a fleet, all
// of which may be killed.
type store struct {
	// site is where tenants are created and the first backend runs.
	site     *site
	sites    []*site
	edges    []*process
	backends []*process
	// synced waits until all nodes have the same data.
	synced func()
	// cluster has the database servers of a fleet; nil on a file.
	cluster *sqldtest.Cluster

	mu sync.Mutex
	// refusal is the last answer to a call that was sent again.
	refusal string
}

// storeGrounds are the set-ups on which the tests of orders run.
var storeGrounds = []struct {
	name string
	open func(*testing.T) *store
}{
	{"file", func(t *testing.T) *store {
		s := newSite(t)
		return &store{site: s, sites: []*site{s}, backends: []*process{s.serve(t)}, edges: []*process{s.serveEdge(t)}, synced: func() {}}
	}},
	{"fleet", func(t *testing.T) *store {
		f := newFleet(t)
		return &store{site: f.nodes[0], sites: f.nodes[:], backends: f.backends[:], edges: f.edges[:], synced: func() { f.cluster.WaitForSync(t) }, cluster: f.cluster}
	}},
}

// call calls the API of a tenant through a random edge, and must be answered with 200.
func (s *store) call(t *testing.T, method, tenant, path, body string, headers ...string) answer {
	t.Helper()
	return mustCall(t, http.StatusOK, method, s.edge()+"/api/v1/"+tenant+path, body, append(headers, s.site.auth(tenant))...)
}

// edge returns the address of a random edge.
func (s *store) edge() string { return s.sites[rand.IntN(len(s.sites))].edge }

// program makes the first program of a tenant convert by the event purchase.
func (s *store) program(t *testing.T, tenant, rewards, limits string) {
	t.Helper()
	s.call(t, "PUT", tenant, "/programs/classic", `{"name":"Shop","sharing":{"url":"https://`+tenant+`.example/"},
		"conversion":{"event":"purchase"},"rewards":`+rewards+`,"limits":`+limits+`}`)
}

func (s *store) identify(t *testing.T, tenant, id, body string, headers ...string) answer {
	t.Helper()
	return s.call(t, "PUT", tenant, "/open/account/"+id+"/user/"+id, body, headers...)
}

// settled waits until all events of all tenants have been applied to their orders.
func (s *store) settled(t *testing.T) {
	t.Helper()
	db := s.site.open(t)
	await(t, func() error {
		if n := number(t, db, waitingOrders); n > 0 {
			return fmt.Errorf("%d event calls and replays wait", n)
		}
		return nil
	})
}

const waitingOrders = `SELECT (SELECT count(*) FROM intake WHERE seq > (SELECT seq FROM intake_cursor)) + (SELECT count(*) FROM order_event) + (SELECT count(*) FROM order_replay)`

// orders returns the orders of an account's referral as the API shows them, without ids
// and the times at which they were processed; none if it has no referral.
func (s *store) orders(t *testing.T, tenant, account string) []map[string]any {
	t.Helper()
	all := s.shown(t, tenant, account)
	for _, o := range all {
		delete(o, "eventId")
		for _, side := range o["rewards"].(map[string]any) {
			normalizeReward(t, side.(map[string]any))
		}
	}
	return all
}

// shown returns the orders of an account's referral as the API shows them.
func (s *store) shown(t *testing.T, tenant, account string) (all []map[string]any) {
	t.Helper()
	found := decode[struct {
		Referrals []struct{ ID string }
	}](t, s.call(t, "GET", tenant, "/referrals?referredAccountId="+account, ""))
	for _, r := range found.Referrals {
		page := decode[struct {
			TotalCount int
			Orders     []map[string]any
		}](t, s.call(t, "GET", tenant, "/referrals/"+r.ID+"/orders?limit=1000", ""))
		require.Len(t, page.Orders, page.TotalCount)
		all = append(all, page.Orders...)
	}
	return all
}

// normalizeReward removes the members of a side's reward that differ between tenants with
// the same orders. If the side earns nothing, a reward of an earlier decision has the
// value 0 and is removed.
func normalizeReward(t *testing.T, side map[string]any) {
	t.Helper()
	reward, given := side["reward"].(map[string]any)
	if given && side["reason"] != nil {
		require.Zero(t, reward["assignedCredit"], "a reward that the order does not earn")
		side["reward"] = nil
	}
	for _, name := range []string{"id", "dateCreated", "dateGiven"} {
		delete(reward, name)
	}
}

// balances returns the balances of an account, without the numbers of its rewards, which
// include those with the value 0.
func (s *store) balances(t *testing.T, tenant, account string) []map[string]any {
	t.Helper()
	all := decode[[]map[string]any](t, s.call(t, "GET", tenant, "/reward/balance?accountId="+account, ""))
	for _, one := range all {
		delete(one, "count")
	}
	return slices.DeleteFunc(all, func(one map[string]any) bool {
		return one["totalAssignedCredit"] == 0.0 && one["totalPendingCredit"] == 0.0
	})
}

// requireSame asserts that accounts have the same orders and balances in two tenants. It
// returns how many orders have each reason for no reward of the referrer, and how many of
// them earned one, with the key "".
func (s *store) requireSame(t *testing.T, want, got string, accounts []string) map[string]int {
	t.Helper()
	reasons := map[string]int{}
	for _, account := range accounts {
		expected, actual := s.orders(t, want, account), s.orders(t, got, account)
		for i, o := range expected {
			require.Less(t, i, len(actual), "%s has no order %v", account, o["orderId"])
			require.Equal(t, o, actual[i], account)
			reason, _ := o["rewards"].(map[string]any)["referrer"].(map[string]any)["reason"].(map[string]any)
			code, _ := reason["code"].(string)
			reasons[code]++
		}
		require.Len(t, actual, len(expected), account)
		require.Equal(t, s.balances(t, want, account), s.balances(t, got, account), account)
	}
	return reasons
}

// hook is a webhook receiver that keeps the data of each event by its type.
type hook struct {
	mu  sync.Mutex
	got map[string][]map[string]any
}

func (h *hook) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	var event struct {
		Type string
		Data map[string]any
	}
	if body, err := io.ReadAll(r.Body); err == nil && json.Unmarshal(body, &event) == nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.got[event.Type] = append(h.got[event.Type], event.Data)
	}
}

// has waits until an event of a type has come whose data have the given values.
func (h *hook) has(t *testing.T, kind string, want map[string]any) {
	t.Helper()
	await(t, func() error {
		h.mu.Lock()
		defer h.mu.Unlock()
		if slices.ContainsFunc(h.got[kind], func(data map[string]any) bool {
			for name, value := range want {
				if data[name] != value {
					return false
				}
			}
			return true
		}) {
			return nil
		}
		return fmt.Errorf("no %s with %v came, but %v", kind, want, h.got[kind])
	})
}

// The story of a shop with one-off orders, through the edge: a share link is followed, the
// visitor orders for 80 dollars, the referrer gets 10 % after the return window, and a
// partial refund takes back its share. The receiver of webhooks gets each step.
func TestOrders_StoryOfAShop(t *testing.T) {
	t.Parallel()
	for _, ground := range storeGrounds {
		t.Run(ground.name, func(t *testing.T) {
			t.Parallel()
			s := ground.open(t)
			tenant := "test_" + alias(t, s.site, "story")
			h := &hook{got: map[string][]map[string]any{}}
			server := httptest.NewServer(h)
			t.Cleanup(server.Close)
			s.site.ok(t, "webhook", "allow", "127.0.0.1", "--tenant", tenant)
			s.site.subscribe(t, tenant, server.URL)
			s.program(t, tenant, `{"referrer":{"type":"CREDIT","unit":"CENTS","currency":"USD","percentOfRevenue":10,"scheduleDuration":"P30D","orders":null}}`, `{}`)
			s.identify(t, tenant, "anna", `{"referralCode":"ANNA10"}`)
			s.identify(t, tenant, "carol", `{}`)
			s.synced()

			followed := mustCall(t, http.StatusFound, "GET", s.edge()+"/s/"+tenant+"/ANNA10", "", "User-Agent: Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0")
			cookie, _, _ := strings.Cut(followed.header["Set-Cookie"][len(followed.header["Set-Cookie"])-1], ";")
			s.identify(t, tenant, "bob", `{}`, "Cookie: "+cookie)
			s.synced()
			log := func(account, event string) {
				s.call(t, "POST", tenant, "/open/account/"+account+"/user/"+account+"/events", `{"events":[`+event+`]}`)
				s.settled(t)
			}
			balance := func() string { return s.call(t, "GET", tenant, "/reward/balance?accountId=anna", "").body }
			order := func(account string) (o map[string]any, reward map[string]any) {
				all := s.orders(t, tenant, account)
				require.Len(t, all, 1)
				side := all[0]["rewards"].(map[string]any)["referrer"].(map[string]any)
				require.Nil(t, side["reason"])
				return all[0], side["reward"].(map[string]any)
			}

			log("bob", `{"key":"purchase","fields":{"order_id":"o-1","revenue":80,"currency":"USD"}}`)
			o, w := order("bob")
			require.Equal(t, []any{8000.0, true, 1.0, 1.0}, []any{o["revenueInCents"], o["counts"], o["number"], o["conversion"]})
			require.Equal(t, []any{800.0, 0.0, "o-1"}, []any{w["assignedCredit"], w["reversedValue"], w["orderId"]})
			require.Greater(t, w["dateScheduledFor"], float64(time.Now().Add(29*24*time.Hour).UnixMilli()))
			h.has(t, "referral.converted", map[string]any{})

			log("bob", `{"key":"refund","fields":{"order_id":"o-1","revenue":20,"currency":"USD"}}`)
			o, w = order("bob")
			require.Equal(t, []any{2000.0, false}, []any{o["refundedInCents"], o["refunded"]})
			require.Equal(t, []any{800.0, 200.0}, []any{w["assignedCredit"], w["reversedValue"]})
			h.has(t, "reward.reversed", map[string]any{"orderId": "o-1", "reversedValue": 200.0})
			require.Contains(t, balance(), `"totalPendingCredit":600,"totalAssignedCredit":0,`)

			// Without a return window, a reward can be redeemed at once. The earlier one keeps
			// its window. The order carries the code, so the friend needs no cookie.
			s.program(t, tenant, `{"referrer":{"type":"CREDIT","unit":"CENTS","currency":"USD","percentOfRevenue":10,"orders":null}}`, `{}`)
			log("carol", `{"key":"purchase","fields":{"order_id":"o-2","revenue":50,"referral_code":"ANNA10"}}`)
			o, w = order("carol")
			require.Equal(t, []any{1.0, 2.0, 500.0}, []any{o["number"], o["conversion"], w["assignedCredit"]})
			h.has(t, "reward.created", map[string]any{"orderId": "o-2", "assignedCredit": 500.0})
			h.has(t, "user.reward.balance.changed", map[string]any{"accountId": "anna", "unit": "CENTS", "availableValue": 500.0})
			_, w = order("bob")
			require.Equal(t, []any{800.0, 200.0}, []any{w["assignedCredit"], w["reversedValue"]})
			require.Contains(t, balance(), `"totalPendingCredit":600,"totalAssignedCredit":500,`)
		})
	}
}

// orderCall is an event call of a random history.
type orderCall struct {
	account, key string
	// at is the time of its first event.
	at     int64
	events []string
}

func (c orderCall) body() string {
	return `{"idempotencyKey":"` + c.key + `","events":[` + strings.Join(c.events, ",") + `]}`
}

// orderHistory is a random history of purchases and refunds of the friends of three
// referrers. The friends with an even number are referred at their identification, after
// some of their events. Of the others, most purchases carry their code.
type orderHistory struct {
	referrers, friends []string
	calls              []orderCall
	// early is the end of the events before the identifications.
	early time.Time
}

// newOrderHistory returns a history of events after now.
func newOrderHistory(r *rand.Rand, calls int) (h orderHistory) {
	for i := range 3 {
		h.referrers = append(h.referrers, fmt.Sprintf("referrer%d", i))
	}
	for i := range 12 {
		h.friends = append(h.friends, fmt.Sprintf("friend%d", i))
	}
	// No two events have the same time, since the order of two such orders is by the id of
	// their referral, which differs between tenants.
	now, at := time.Now(), r.Perm(3*calls)
	h.early = now.Add(time.Duration(len(at)) * time.Millisecond)
	for n := range calls {
		i := r.IntN(len(h.friends))
		c := orderCall{account: h.friends[i], key: fmt.Sprintf("order-key-%05d", n)}
		for range 1 + r.IntN(3) {
			triggered := now.Add(time.Duration(at[0]) * time.Millisecond).UnixMilli()
			if i%2 == 0 && r.IntN(8) > 0 {
				triggered += (24 * time.Hour).Milliseconds()
			}
			if at = at[1:]; c.at == 0 {
				c.at = triggered
			}
			key := []string{"purchase", "purchase", "refund"}[r.IntN(3)]
			fields := fmt.Sprintf(`"order_id":"o-%d"`, r.IntN(calls/8))
			if r.IntN(5) > 0 {
				fields += fmt.Sprintf(`,"revenue":%d.%02d`, r.IntN(90), r.IntN(100))
			}
			if r.IntN(6) == 0 {
				fields += `,"currency":"EUR"`
			}
			if i%2 == 1 && key == "purchase" && r.IntN(4) > 0 {
				fields += `,"referral_code":"` + codeOf(i) + `"`
			}
			c.events = append(c.events, fmt.Sprintf(`{"key":%q,"dateTriggered":%d,"fields":{%s}}`, key, triggered, fields))
		}
		h.calls = append(h.calls, c)
	}
	return h
}

// codeOf returns the referral code of a friend's referrer.
func codeOf(friend int) string { return fmt.Sprintf("CODE%d", friend/2%3) }

// people identifies the users of a history, after its early events.
func (h orderHistory) people(t *testing.T, s *store, tenant string) {
	t.Helper()
	await(t, func() error {
		if left := time.Until(h.early); left > 0 {
			return fmt.Errorf("events are still to come for %v", left)
		}
		return nil
	})
	for i, id := range h.referrers {
		s.identify(t, tenant, id, fmt.Sprintf(`{"referralCode":"CODE%d"}`, i))
	}
	for i, id := range h.friends {
		body := `{}`
		if i%2 == 0 {
			body = `{"referredByCodes":["` + codeOf(i) + `"]}`
		}
		s.identify(t, tenant, id, body)
	}
}

func (s *store) tieredProgram(t *testing.T, tenant string) {
	t.Helper()
	s.program(t, tenant, `{"referrer":{"type":"CREDIT","unit":"CENTS","currency":"USD","percentOfRevenue":10,"orders":4,
		"tiers":[{"from":2,"percentOfRevenue":15},{"from":3,"percentOfRevenue":20}]},
		"referred":{"type":"CREDIT","unit":"POINT","credit":100}}`, `{"rewards":12,"rewardsInPeriod":3,"period":"PT1S"}`)
}

// send sends a call until it is answered: with 200, or with 409 if it was stored before.
func (s *store) send(tenant string, c orderCall) error {
	for end := time.Now().Add(deadline); ; time.Sleep(10 * time.Millisecond) {
		a, err := s.site.sendEvents(s.edge(), tenant, c.account, c.body())
		switch {
		case err == nil && (a.status == http.StatusOK || a.status == http.StatusConflict):
			return nil
		case err == nil && a.status < http.StatusInternalServerError:
			return fmt.Errorf("%s: %d %s", c.key, a.status, a.body)
		case time.Now().After(end):
			return fmt.Errorf("%s was not answered: %d %s %w", c.key, a.status, a.body, err)
		}
		s.mu.Lock()
		s.refusal = fmt.Sprintf("%s %s: %d %s %v", time.Now().Format(time.TimeOnly), c.key, a.status, a.body, err)
		s.mu.Unlock()
	}
}

// sendAll sends calls from several senders, and adds to done after each.
func (s *store) sendAll(tenant string, senders int, calls []orderCall, done *atomic.Int64) error {
	work := make(chan orderCall, len(calls))
	for _, c := range calls {
		work <- c
	}
	close(work)
	return errors.Join(atOnce(senders, func(int) (err error) {
		for c := range work {
			err = errors.Join(err, s.send(tenant, c))
			done.Add(1)
		}
		return err
	})...)
}

// killOne kills a random process and starts it again. It reports whether orders waited to
// be decided.
func (s *store) killOne(t *testing.T, r *rand.Rand) (busy bool) {
	t.Helper()
	db := s.site.open(t)
	i := r.IntN(len(s.sites))
	if r.IntN(3) == 0 {
		s.edges[i].kill()
		s.edges[i] = s.sites[i].serveEdge(t)
		return false
	}
	busy = number(t, db, waitingOrders) > 0
	s.backends[i].kill()
	s.backends[i] = s.sites[i].serve(t)
	return busy
}

// Senders log purchases and refunds through the edge in random order, some twice, while
// edges and backends are killed and started again. Orders and balances are then those of
// a tenant to which the same calls were sent in order, once each, without a kill.
func TestSoak_OrdersAreDecidedOnce(t *testing.T) {
	calls, kills := 240, 10
	if long() {
		calls, kills = 2000, 40
	} else {
		t.Parallel()
	}
	for _, ground := range storeGrounds {
		t.Run(ground.name, func(t *testing.T) {
			if !long() {
				t.Parallel()
			}
			s := ground.open(t)
			r := rand.New(rand.NewPCG(22, 1))
			killed, calm := alias(t, s.site, "killed"), alias(t, s.site, "calm")
			s.tieredProgram(t, killed)
			s.tieredProgram(t, calm)
			h := newOrderHistory(r, calls)
			h.people(t, s, killed)
			h.people(t, s, calm)
			s.synced()

			sent := slices.Concat(h.calls, h.calls[:calls/4])
			r.Shuffle(len(sent), func(i, j int) { sent[i], sent[j] = sent[j], sent[i] })
			var done atomic.Int64
			result := make(chan error, 1)
			go func() { result <- s.sendAll(killed, 8, sent, &done) }()
			busy := 0
			t.Cleanup(func() {
				if t.Failed() {
					for _, p := range append(s.edges, s.backends...) {
						text := fmt.Sprint(p.output)
						t.Log(p.command.Args[1:], text[max(0, len(text)-2000):])
					}
				}
			})
			for n := range kills {
				await(t, func() error {
					if got := int(done.Load()); got < len(sent)*n/kills {
						s.mu.Lock()
						defer s.mu.Unlock()
						return fmt.Errorf("%d calls were answered at %s; last refusal: %s", got, time.Now().Format(time.TimeOnly), s.refusal)
					}
					return nil
				})
				if s.killOne(t, r) {
					busy++
				}
			}
			require.NoError(t, <-result)
			s.settled(t)

			slices.SortFunc(h.calls, func(a, b orderCall) int { return int(a.at - b.at) })
			require.NoError(t, s.sendAll(calm, 1, h.calls, &done))
			s.settled(t)
			everyone := slices.Concat(h.referrers, h.friends)
			reasons := s.requireSame(t, calm, killed, everyone)
			found := []string{"", "before-attribution", "limit-of-rewards-in-period"}
			if long() {
				found = append(found, "all-orders-rewarded") // the limits let few friends get that far
			}
			for _, reason := range found {
				require.Positive(t, reasons[reason], "orders with the reason %q", reason)
			}
			t.Logf("%d calls, %d kills, %d of them of a backend while orders waited: %v", len(sent), kills, busy, reasons)
		})
	}
}

// importedOrders returns rows of MUTATION/USER_EVENT: purchases and refunds of the friends
// of one referrer, in the order of their times.
func importedOrders(rows, friends int) (all []string) {
	r := rand.New(rand.NewPCG(22, 2))
	began := time.Now()
	for n := range rows {
		fields := fmt.Sprintf(`"order_id":"o-%d","revenue":%d.%02d`, n, 5+r.IntN(90), r.IntN(100))
		key, friend := "purchase", r.IntN(friends)
		if n > 10 && n%5 == 0 {
			// Each fifth row is a refund of half of the order five rows before its end.
			key, fields = "refund", fmt.Sprintf(`"order_id":"o-%d","revenue":2.50`, n-4)
			friend = n / 5 % friends
		}
		if n%5 == 1 {
			friend = (n + 4) / 5 % friends
		}
		if key == "purchase" {
			fields += `,"referral_code":"REFERRER"`
		}
		all = append(all, fmt.Sprintf(`{"accountId":"friend%d","userId":"friend%d","event":{"key":%q,"dateTriggered":%d,"fields":{%s}}}`+"\n",
			friend, friend, key, began.Add(time.Duration(n)*time.Second).UnixMilli(), fields))
	}
	return all
}

// importOrders imports rows of events, waits until all orders are decided, and returns how
// long both took.
func (s *store) importOrders(t *testing.T, tenant string, rows []string) (imported, decided time.Duration) {
	t.Helper()
	c := s.site.client(tenant)
	ref, err := c.Upload(t.Context(), "events.jsonl", strings.NewReader(strings.Join(rows, "")))
	require.NoError(t, err)
	began := time.Now()
	made, err := c.CreateJob(t.Context(), client.Input{Type: job.Type("MUTATION/USER_EVENT"), FileRef: ref})
	require.NoError(t, err)
	await(t, func() error {
		if made, err = c.Job(t.Context(), made.ID); err == nil && made.Status == "PENDING" {
			err = fmt.Errorf("the job is at %d", made.Stats.RecordsProcessed)
		}
		return err
	})
	require.EqualValues(t, "COMPLETED", made.Status, made.Message)
	require.Zero(t, made.Stats.Errors)
	imported = time.Since(began)
	s.settled(t)
	return imported, time.Since(began)
}

// An import of events in random order ends in the same orders and balances as one in the
// order of their times. Meanwhile calls of another tenant are answered.
func TestSoak_OrdersOfAnImport(t *testing.T) {
	rows, friends := 1500, 30
	if long() {
		rows, friends = 20_000, 500
	} else {
		t.Parallel()
	}
	s := storeGrounds[0].open(t)
	sorted, shuffled, other := alias(t, s.site, "sorted"), alias(t, s.site, "shuffled"), alias(t, s.site, "other")
	everyone := []string{"referrer"}
	for i := range friends {
		everyone = append(everyone, fmt.Sprintf("friend%d", i))
	}
	for _, tenant := range []string{sorted, shuffled} {
		s.program(t, tenant, `{"referrer":{"type":"CREDIT","unit":"CENTS","currency":"USD","percentOfRevenue":10,"orders":null,
			"tiers":[{"from":5,"percentOfRevenue":15}]}}`, `{"rewardsInPeriod":20,"period":"PT1M"}`)
		s.identify(t, tenant, "referrer", `{"referralCode":"REFERRER"}`)
		for _, id := range everyone[1:] {
			s.identify(t, tenant, id, `{}`)
		}
	}
	s.identify(t, other, "anna", `{}`)
	lines := importedOrders(rows, friends)

	var took []time.Duration
	ended, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		for n := 0; ; n++ {
			select {
			case <-ended:
				stopped <- nil
				return
			case <-time.After(20 * time.Millisecond):
			}
			began := time.Now()
			a, err := s.site.sendEvents(s.site.edge, other, "anna", fmt.Sprintf(`{"idempotencyKey":"beside-%d","events":[{"key":"visit"}]}`, n))
			took = append(took, time.Since(began))
			if err == nil && a.status != http.StatusOK {
				err = fmt.Errorf("%d %s", a.status, a.body)
			}
			if err != nil {
				stopped <- err
				return
			}
		}
	}()
	report := func(name string, imported, decided time.Duration) {
		t.Logf("%s: %d rows imported in %.1f s, their orders decided after %.1f s: %.0f rows/s", name, rows, imported.Seconds(), decided.Seconds(), float64(rows)/decided.Seconds())
	}
	imported, decided := s.importOrders(t, sorted, lines)
	report("sorted", imported, decided)
	mixed := slices.Clone(lines)
	rand.New(rand.NewPCG(22, 3)).Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
	imported, late := s.importOrders(t, shuffled, mixed)
	report("shuffled", imported, late)
	close(ended)
	require.NoError(t, <-stopped)
	slices.Sort(took)
	t.Logf("%d event calls of another tenant: p50 %.0f ms, p99 %.0f ms, longest %.0f ms", len(took), ms(quantile(took, 50)), ms(quantile(took, 99)), ms(took[len(took)-1]))

	reasons := s.requireSame(t, sorted, shuffled, everyone)
	require.Positive(t, reasons[""])
	require.Positive(t, reasons["limit-of-rewards-in-period"])
	if long() {
		require.Less(t, late, 5*decided, "orders in random order take much longer than sorted ones")
	}
}
