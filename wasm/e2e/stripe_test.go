package e2e

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// stripeStory is the story of several shops that bills with Stripe, on the same processes.
type stripeStory struct {
	*store
	t     *testing.T
	db    *sql.DB
	shops []*stripeShop
	r     *rand.Rand
	// perStage is how many processes are killed in each stage.
	perStage int
	// all are all processes that ran, and kills counts those that were killed, by kind.
	all   []*process
	kills map[string]int
	// held is how many kills happened during a call to Stripe, and money how many of these
	// calls moved money. repeated is how many events arrived again.
	held, money, repeated int
}

// stripeModes are how events are sent in the stages, in turn. Each shop begins with
// another one.
var stripeModes = []string{"shuffle", "drop", "duplicate", "hold", "reorder", "stale"}

// stripeStage is a part of the story: what a shop and its customers do.
type stripeStage struct {
	name string
	do   func(context.Context, *stripeShop) error
}

// The story: link, checkout with the promotion code, trial, first invoice paid, reward,
// partial refund, corrected ledger, next bill of the referrer reduced. Then the friends pay
// once more, and the referrers too.
var stripeStages = []stripeStage{
	{"links are followed until there are promotion codes", func(ctx context.Context, shop *stripeShop) error {
		for _, r := range shop.referrers {
			if err := shop.followUntilPromoted(ctx, r.code); err != nil {
				return err
			}
		}
		return nil
	}},
	{"friends go through the checkout", func(ctx context.Context, shop *stripeShop) error {
		return shop.each(func(f *stripeFriend) error { return shop.buy(ctx, f) })
	}},
	{"trials end, and the first bills are paid", func(_ context.Context, shop *stripeShop) error { return shop.advance(0, 15) }},
	{"the shop gives a part of some first payments back", func(ctx context.Context, shop *stripeShop) error {
		for i, f := range shop.friends {
			if i%3 == 2 {
				continue
			}
			if err := shop.giveBack(ctx, f, shop.back); err != nil {
				return err
			}
		}
		return nil
	}},
	{"the referrers' next bills are paid", func(_ context.Context, shop *stripeShop) error { return shop.advance(1, 1) }},
	{"the friends' second bills are paid", func(_ context.Context, shop *stripeShop) error { return shop.advance(1, 15) }},
	{"the referrers' third bills are paid", func(_ context.Context, shop *stripeShop) error { return shop.advance(2, 1) }},
}

// Numbers of stages after which the expected state is known.
const (
	linked = iota
	bought
	firstPaid
	givenBack
	nextBill
	secondPaid
	thirdBill
)

// each calls do for every friend.
func (shop *stripeShop) each(do func(*stripeFriend) error) error {
	for _, f := range shop.friends {
		if err := do(f); err != nil {
			return fmt.Errorf("%s: %w", f.id, err)
		}
	}
	return nil
}

// play plays a stage in all shops at once, while processes are killed, and waits until
// everything has settled.
func (s *stripeStory) play(n int) {
	s.t.Helper()
	stage := stripeStages[n]
	for i, shop := range s.shops {
		require.NoError(s.t, shop.control("mode", "mode="+stripeModes[(n+3*i)%len(stripeModes)]))
	}
	done := make(chan error, 1)
	go func() {
		done <- errors.Join(atOnce(len(s.shops), func(i int) error {
			if err := stage.do(s.t.Context(), s.shops[i]); err != nil {
				return fmt.Errorf("%s: %w", s.shops[i].name, err)
			}
			return nil
		})...)
	}()
	acted := false
	for range s.perStage {
		s.kill(func() bool {
			if !acted {
				select {
				case err := <-done:
					require.NoError(s.t, err, stage.name)
					acted = true
				default:
				}
			}
			return acted
		})
	}
	if !acted {
		require.NoError(s.t, <-done, stage.name)
	}
	for _, shop := range s.shops {
		require.NoError(s.t, shop.control("mode", "mode=normal"))
	}
	s.settle(n)
}

// kill kills a process, if possible while it calls Stripe, and starts it again. acted says
// whether the shops have done what they do in this stage.
func (s *stripeStory) kill(acted func() bool) {
	shop := s.shops[s.r.IntN(len(s.shops))]
	hold := shop.front.holdRandom(s.r)
	await(s.t, func() error {
		select {
		case <-hold.reached:
			return nil
		default:
		}
		// When nothing is left to do, no call comes. What was lost is searched for meanwhile.
		if acted() && s.settled() == nil {
			return nil
		}
		return errors.New("no call to Stripe")
	})
	money := false
	select {
	case <-hold.reached:
		s.held++
		if money = hold.money; money {
			s.money++
		}
	default:
	}
	kind, start := s.killOne(money)
	s.kills[kind]++
	shop.front.release(hold)
	start()
}

// killOne kills a random process, or a random backend, and returns its kind and what starts
// it again. In make test the primary stays: work whose lease is lost with it waits for leaseLife.
func (s *stripeStory) killOne(backend bool) (kind string, start func()) {
	i, n := s.r.IntN(len(s.sites)), s.r.IntN(10)
	if backend {
		n = 0
	}
	switch {
	case n >= 7 && s.cluster == nil, n >= 5 && n < 7:
		s.edges[i].kill()
		return "edge", func() { s.edges[i] = s.started(s.sites[i].serveEdge(s.t, stripeEnv...)) }
	case n < 5:
		s.backends[i].kill()
		return "backend", func() { s.backends[i] = s.started(s.sites[i].serve(s.t, stripeEnv...)) }
	case n == 7 || !long():
		s.cluster.Replicas[i].Kill(s.t)
		return "replica", func() { s.cluster.Replicas[i].Start(s.t) }
	}
	s.cluster.KillPrimary(s.t)
	return "primary", func() { s.cluster.StartPrimary(s.t) }
}

// stripeEnv makes the work of a killed process wait for a second, and not for ten.
var stripeEnv = []string{"KITH_JOB_LEASE=1s"}

func (s *stripeStory) started(p *process) *process {
	s.all = append(s.all, p)
	return p
}

// busy returns what Kith has to do now or has failed to do, or nil.
func (s *stripeStory) busy() error {
	var busy string
	now := time.Now()
	// What is due within minutes waits for another try; all else is due in hours.
	err := s.db.QueryRowContext(s.t.Context(), `SELECT concat(
		(SELECT 'notification ' || seq || problem FROM gateway_notification WHERE read_at IS NULL OR problem <> '' LIMIT 1),
		(SELECT 'subscription ' || id || problem FROM gateway_subscription WHERE leased_until IS NOT NULL OR due_at <= ?1 OR problem <> '' LIMIT 1),
		(SELECT 'payment ' || id || problem FROM gateway_payment WHERE due_at IS NOT NULL OR problem <> '' LIMIT 1),
		(SELECT 'refund ' || transaction_id || problem FROM gateway_refund WHERE state <> 'done' LIMIT 1),
		(SELECT 'credit ' || id || problem FROM gateway_credit WHERE state <> 'done' LIMIT 1),
		(SELECT 'promotion ' || code || problem FROM gateway_promotion WHERE due_at <= ?1 OR leased_by IS NOT NULL OR problem <> '' LIMIT 1),
		(SELECT 'metadata of ' || customer_id || problem FROM gateway_coupon WHERE due_at IS NOT NULL OR leased_by IS NOT NULL LIMIT 1),
		(SELECT 'search' FROM gateway_connection WHERE sweep_at <= ?2 OR leased_by IS NOT NULL LIMIT 1),
		(SELECT 'order' WHERE (`+waitingOrders+`) > 0))`, now.Add(5*time.Minute).UnixMilli(), now.UnixMilli()).Scan(&busy)
	if err == nil && busy != "" {
		err = errors.New("Kith is busy: " + busy)
	}
	return err
}

// leaseLife is how long work stays leased to a process that runs on but has lost the
// database's answer to its lease.
const leaseLife = 5 * time.Minute

// settle waits until Stripe has sent what it has to send, Kith knows each event of Stripe,
// and has nothing to do. Lost events are found by a search, which is due every 10 minutes
// and here at once.
func (s *stripeStory) settle(n int) {
	s.t.Helper()
	for end := time.Now().Add(leaseLife + deadline); ; time.Sleep(20 * time.Millisecond) {
		err := s.settled()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("%s: %v", stripeStages[n].name, err)
		}
	}
}

func (s *stripeStory) settled() error {
	for _, shop := range s.shops {
		if err := shop.control("flush", ""); err != nil {
			return err
		}
	}
	if err := s.busy(); err != nil {
		return err
	}
	for _, shop := range s.shops {
		if err := shop.settled(s.t.Context(), s.db); err != nil {
			return fmt.Errorf("%s: %w", shop.name, err)
		}
	}
	return s.busy()
}

// check compares the state after a stage with the expected one.
func (s *stripeStory) check(n int) {
	s.t.Helper()
	for _, shop := range s.shops {
		want, err := shop.expected(n)
		require.NoError(s.t, err)
		got, err := shop.actual(s.t.Context())
		require.NoError(s.t, err)
		for _, key := range slices.Sorted(maps.Keys(want)) {
			require.Equal(s.t, want[key], got[key], "after %q: %s of shop %s", stripeStages[n].name, key, shop.name)
		}
		require.Equal(s.t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)))
	}
}

// The story of referrals at shops that bill with Stripe, with Stripe's own clients on the
// built programs, while events are lost, repeated and out of order, and processes are
// killed. After each part, each ledger, each refund, each bill and each credit at Stripe
// has exactly the expected value.
func TestSoakStripe_Story(t *testing.T) {
	friends, perStage := 10, 1
	if long() {
		friends, perStage = 30, 6
	} else {
		t.Parallel()
	}
	for _, ground := range storeGrounds {
		t.Run(ground.name, func(t *testing.T) {
			if !long() {
				t.Parallel()
			}
			began := time.Now()
			base := ground.open(t)
			s := &stripeStory{store: base, t: t, db: base.site.open(t), r: rand.New(rand.NewPCG(27, uint64(began.UnixNano()))), perStage: perStage, kills: map[string]int{}}
			s.all = append(slices.Clone(base.edges), base.backends...)
			t.Cleanup(s.logOutput)
			for _, terms := range stripeShops {
				shop := base.openStripeShop(t, terms, friends/int(ways))
				for i := range friends {
					shop.friends = append(shop.friends, &stripeFriend{id: fmt.Sprintf("friend%d", i), referrer: shop.referrers[i/int(ways)], way: stripeWay(i) % ways})
				}
				s.shops = append(s.shops, shop)
			}
			for n := range stripeStages {
				s.play(n)
				s.check(n)
				t.Logf("%5.1f s  %s; kills %v", time.Since(began).Seconds(), stripeStages[n].name, s.kills)
			}
			for _, shop := range s.shops {
				arrived, repeated := shop.report(t)
				require.Positive(t, arrived)
				s.repeated += repeated
			}
			s.requireNoLoss()
		})
	}
}

// logOutput logs the ends of what the processes have logged, if the test failed.
func (s *stripeStory) logOutput() {
	if !s.t.Failed() {
		return
	}
	for _, p := range append(slices.Clone(s.edges), s.backends...) {
		text := fmt.Sprint(p.output)
		s.t.Log(p.command.Args[1:], text[max(0, len(text)-3000):])
	}
}

// found matches the number of events and objects that a search has found.
var found = regexp.MustCompile(`msg="gateway sweep" .* found=(\d+)`)

// requireNoLoss fails if a process has logged an error, other than that a process or a
// database that was killed does not answer, or if no event was lost or repeated.
func (s *stripeStory) requireNoLoss() {
	s.t.Helper()
	lost, errs := 0, map[string]int{}
	for _, p := range s.all {
		p.kill()
		for line := range strings.Lines(p.log(s.t)) {
			if n := found.FindStringSubmatch(line); n != nil {
				more, err := strconv.Atoi(n[1])
				require.NoError(s.t, err)
				lost += more
			}
			_, text, isError := strings.Cut(line, "level=ERROR msg=")
			switch {
			case !isError:
			case strings.HasPrefix(text, `"outbound request failed"`):
				errs["the backend does not answer the edge"]++
			case s.cluster != nil && databaseAway.MatchString(text):
				errs["the database does not answer"]++
			default:
				require.Fail(s.t, "a process has logged an error", line)
			}
		}
	}
	s.t.Logf("%d of the kills during a call to Stripe, %d of them one that moves money; searches found %d lost events; errors in the logs: %v", s.held, s.money, lost, errs)
	require.Positive(s.t, lost)
	require.Positive(s.t, s.repeated)
}

// databaseAway matches the text of an error of a database that was killed or begins.
var databaseAway = regexp.MustCompile(`connection refused|connection reset|broken pipe|EOF|unavailable|stream|transport error|closed`)
