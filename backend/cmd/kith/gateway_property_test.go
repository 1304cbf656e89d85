package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/braintreelab"
	"kith/backend/braintreelab/scenario"
	"kith/backend/demo"
	"kith/backend/gateway/braintree"
	"kith/backend/testenv"
	"kith/core"
	"kith/core/referral"
	"kith/core/reward"
)

// inbox receives the notifications of the gateway in place of the service, and keeps them.
type inbox struct {
	mu    sync.Mutex
	forms []url.Values
}

func (p *inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		answer, _ := braintree.Keys{{Public: braintreelab.PublicKey, Private: braintreelab.PrivateKey}}.AnswerChallenge(r.URL.Query().Get("bt_challenge"))
		fmt.Fprint(w, answer)
		return
	}
	_ = r.ParseForm()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forms = append(p.forms, r.PostForm)
}

// take returns the notifications and empties the inbox.
func (p *inbox) take() []url.Values {
	p.mu.Lock()
	defer p.mu.Unlock()
	forms := p.forms
	p.forms = nil
	return forms
}

// history is a random history of some customers, on a stage whose notifications go to an
// inbox.
type history struct {
	*gatewayStage
	t     *testing.T
	rand  *rand.Rand
	inbox *inbox
	made  map[string]int
}

func newHistory(t *testing.T, seed uint64) *history {
	h := &history{gatewayStage: newGatewayStage(t), t: t, rand: rand.New(rand.NewPCG(seed, 1)), inbox: &inbox{}, made: map[string]int{}}
	server := httptest.NewServer(h.inbox)
	t.Cleanup(server.Close)
	answer, err := http.PostForm(h.lab+"/lab/webhook", url.Values{"url": {server.URL}})
	require.NoError(t, err)
	answer.Body.Close()
	require.Equal(t, http.StatusOK, answer.StatusCode)
	for _, who := range []string{"anna", "bob", "carl"} {
		h.do("customer " + who)
	}
	h.do("identify anna")
	for _, who := range []string{"bob", "carl"} {
		h.do("register " + who + " code=ANNA10")
	}
	return h
}

// do plays a line of a scenario. The gateway may refuse it.
func (h *history) do(line string) {
	h.t.Helper()
	err := h.player().Play(h.t.Context(), line)
	if err != nil && !strings.Contains(err.Error(), unlistedError) && !strings.Contains(err.Error(), "refused with") {
		require.NoError(h.t, err, line)
	}
}

func (h *history) state() braintreelab.State {
	h.t.Helper()
	state, err := scenario.New(h.lab).State(h.t.Context())
	require.NoError(h.t, err)
	return state
}

// live returns the subscriptions of a customer that have not ended.
func live(state braintreelab.State, who string) (all []braintreelab.SubscriptionState) {
	for _, s := range state.Subscriptions {
		if s.Customer == who && s.Status != braintree.Canceled && s.Status != braintree.Expired {
			all = append(all, s)
		}
	}
	return all
}

// step applies a random action to a random customer. disputes says whether it may be a
// dispute.
func (h *history) step(disputes bool) {
	who := []string{"anna", "bob", "carl"}[h.rand.IntN(3)]
	what, id := h.rand.IntN(8), ""
	if all := live(h.state(), who); len(all) > 1 || len(all) == 1 && (who != "anna" || what > 0) {
		id = all[h.rand.IntN(len(all))].ID
	}
	switch {
	case id == "":
		h.made[who]++
		line := fmt.Sprintf("subscribe %s pro %s%d", who, who[:1], h.made[who])
		switch h.rand.IntN(4) {
		case 0:
			line += " trial=9d"
		case 1:
			line += " cycles=2"
		case 2:
			if who != "anna" {
				line += " add=svc_discount:5.00"
			}
		}
		h.do(line)
	case what == 0:
		h.do("cancel " + id)
	case what == 1:
		h.do(fmt.Sprintf("change %s price=%d.00 prorate=no", id, 30+h.rand.IntN(40)))
	case what == 2 && who != "anna":
		h.do("decline " + who)
	case what == 3:
		h.do("accept " + who)
	case what == 4 && disputes && h.made[who] == 1:
		h.object(id)
	}
}

// object opens a dispute about the first charge of a subscription, and decides it.
func (h *history) object(id string) {
	i := slices.IndexFunc(h.state().Transactions, func(t braintreelab.TransactionState) bool { return t.Subscription == id })
	if i < 0 || !h.state().Transactions[i].Status.Paid() {
		return
	}
	h.do("dispute " + id + "#1 open")
	h.do("dispute " + id + "#1 " + []string{"lost", "won", "accepted"}[h.rand.IntN(3)])
}

// deliverSome delivers notifications to the service in random order, some of them twice
// and some never, and sometimes waits until the service has processed them.
func (h *history) deliverSome(r *rand.Rand, forms []url.Values, lost float64) {
	h.t.Helper()
	var sent []url.Values
	for _, f := range forms {
		if r.Float64() < lost {
			continue
		}
		if sent = append(sent, f); r.IntN(4) == 0 {
			sent = append(sent, f)
		}
	}
	r.Shuffle(len(sent), func(i, j int) { sent[i], sent[j] = sent[j], sent[i] })
	for _, f := range sent {
		require.Equal(h.t, http.StatusOK, h.gatewayStage.deliver(h.t, f))
		if r.IntN(3) == 0 {
			require.NoError(h.t, h.idle(h.t.Context()))
		}
	}
	require.NoError(h.t, h.idle(h.t.Context()))
}

// advance advances the clock of the service, which then reads its subscriptions again.
func (h *history) advance(d string) {
	h.t.Helper()
	require.NoError(h.t, h.later(h.t.Context(), scenario.Step{Words: []string{d}}))
}

// digest returns the final state of a history, at the service and at the gateway.
func (h *history) digest() map[string]string {
	h.t.Helper()
	ctx, state, out := h.t.Context(), h.state(), map[string]string{}
	for _, who := range []string{"anna", "bob", "carl"} {
		a, err := h.engine.Accounts.ByID(ctx, demo.TestTenant, core.AccountID(who))
		require.NoError(h.t, err)
		out[who] = fmt.Sprintf("%s %s %s paid=%t", a.Status, a.Standing.Referral, a.Standing.Code, a.Standing.FirstPaid != 0)
		balances, err := h.engine.Rewards.Balances(ctx, demo.TestTenant, a.ID, "", "")
		require.NoError(h.t, err)
		out[who+" ledger"] = fmt.Sprintf("%+v", balances)
		page, _, err := h.engine.Referrals.List(ctx, demo.TestTenant, referral.Filter{ReferredAccount: a.ID, Limit: 1})
		require.NoError(h.t, err)
		for _, ref := range page {
			// The end depends on what was known when: docs/decisions/attribution.md, PAID and CANCELLED.
			out[who+" referral"] = fmt.Sprintf("%s %+v %+v", ref.State, ref.Moderation.Referrer, ref.Moderation.Referred)
		}
		out[who+" refunds"] = fmt.Sprint(refundsTo(state, who))
	}
	for _, s := range state.Subscriptions {
		out["subscription "+s.ID] = fmt.Sprintf("%s %v", s.Status, s.Discounts)
	}
	return out
}

// refundsTo returns the amounts that were refunded to a customer.
func refundsTo(state braintreelab.State, who string) (all []braintree.Amount) {
	for _, t := range state.Transactions {
		if t.Customer == who && t.Kind == braintree.Credit {
			all = append(all, t.Amount)
		}
	}
	return all
}

// The notifications of a history give the same state in any order, repeated, and even if
// some do not arrive.
func TestGateway_AnyOrderGivesTheSameState(t *testing.T) {
	t.Parallel()
	outcomes := map[string]bool{}
	for _, seed := range testenv.Seeds(t) {
		var first map[string]string
		for order, lost := range []float64{0, 0, 0.3, 1} {
			h := newHistory(t, seed)
			for range 40 {
				h.step(true)
				h.do(fmt.Sprintf("advance %dd", 1+h.rand.IntN(6)))
			}
			h.do("advance 3d")
			h.do("send")
			forms := h.inbox.take()
			require.NotEmpty(t, forms)
			require.Equal(t, 0, h.stored(t), "the service has no notification yet")
			if order == 0 {
				for _, f := range forms {
					require.Equal(t, http.StatusOK, h.gatewayStage.deliver(t, f))
				}
				require.NoError(t, h.idle(t.Context()))
			} else {
				h.deliverSome(rand.New(rand.NewPCG(seed, uint64(order))), forms, lost)
			}
			h.advance("24h")
			h.advance("24h")
			if first == nil {
				first = h.digest()
			}
			require.Equal(t, first, h.digest(), "seed %d, order %d", seed, order)
		}
		for what, is := range maps.All(first) {
			if strings.HasSuffix(what, " referral") || strings.HasSuffix(what, " refunds") {
				outcomes[is] = true
			}
		}
	}
	require.Greater(t, len(outcomes), min(3, len(testenv.Seeds(t))), "the histories differ: %v", outcomes)
}

// Notifications arrive late, twice, in another order or not at all, and the service reads
// its subscriptions once a day. At the end of each day its state matches the gateway: no
// customer gets a discount twice, and the ledger has the credit that bills have used.
func TestGateway_EveryDayMatchesTheGateway(t *testing.T) {
	t.Parallel()
	for _, seed := range testenv.Seeds(t) {
		h := newHistory(t, seed)
		r := rand.New(rand.NewPCG(seed, 9))
		for range 90 {
			h.step(false)
			h.do("advance 1d")
			h.do("send")
			h.deliverSome(r, h.inbox.take(), 0.4)
			h.advance("24h")
			// Credit that moves to another subscription takes two readings of each.
			h.advance("2m")
			h.advance("2m")
			h.requireMatch(seed)
		}
	}
}

// requireMatch checks that the discounts and the credit at the service match the gateway.
func (h *history) requireMatch(seed uint64) {
	t, ctx, state := h.t, h.t.Context(), h.state()
	t.Helper()
	credit, err := h.engine.Rewards.Balances(ctx, demo.TestTenant, "anna", "", reward.Credit)
	require.NoError(t, err)
	left, assigned := int64(0), int64(0)
	for _, b := range credit {
		left, assigned = left+b.Available(), assigned+b.Assigned
	}
	converted := 0
	for _, who := range []string{"bob", "carl"} {
		paid := cycles(state, who)
		h.requireOneDiscount(state, who, paid)
		if len(paid) == 0 {
			// A customer who returns after a canceled trial gets no discount.
			continue
		}
		converted++
		for _, s := range live(state, who) {
			if s.Status == braintree.Active {
				require.Equal(t, cents(t, s.Price)/10, cents(t, s.Discounts["svc_discount"]), "seed %d: %s %+v", seed, who, s)
			}
		}
	}
	require.Equal(t, int64(1000*converted), assigned, "seed %d", seed)
	used := int64(0)
	for _, c := range cycles(state, "anna") {
		used += cents(t, c.Discounts["svc_discount"])
	}
	require.Equal(t, assigned-used, left, "seed %d: what was used", seed)
	// Credit is in the bills that are next, of whichever subscription, and never twice.
	all := live(state, "anna")
	slices.SortStableFunc(all, func(a, b braintreelab.SubscriptionState) int { return strings.Compare(a.NextBilling, b.NextBilling) })
	for _, s := range all {
		credit := min(left, cents(t, s.Price))
		require.Equal(t, credit, cents(t, s.Discounts["svc_discount"]), "seed %d: %+v of %+v", seed, s, all)
		left -= credit
	}
}

// requireOneDiscount checks that the first charge of a referred customer had its discount
// or a refund of it, and not both.
func (h *history) requireOneDiscount(state braintreelab.State, who string, paid []braintreelab.TransactionState) {
	h.t.Helper()
	refunds := refundsTo(state, who)
	if len(paid) == 0 {
		require.Empty(h.t, refunds)
		return
	}
	first := paid[0]
	had := cents(h.t, first.Discounts["svc_discount"]) > 0
	switch {
	case had:
		require.Empty(h.t, refunds, "%+v", first)
	case first.Status == braintree.Settled && state.Now.Sub(first.Created).Hours() > 48:
		require.Equal(h.t, []braintree.Amount{braintree.NewAmount(cents(h.t, first.Amount)/10, "USD")}, refunds, "%+v", first)
	default:
		require.LessOrEqual(h.t, len(refunds), 1)
	}
}

// cycles returns the charges that a customer has paid, oldest first.
func cycles(state braintreelab.State, who string) (all []braintreelab.TransactionState) {
	for _, t := range state.Transactions {
		if t.Customer == who && t.Kind == braintree.Sale && t.Status.Paid() {
			all = append(all, t)
		}
	}
	return all
}

func cents(t *testing.T, a braintree.Amount) int64 {
	t.Helper()
	if a == "" {
		return 0
	}
	n, err := a.Minor("USD")
	require.NoError(t, err)
	return n
}
