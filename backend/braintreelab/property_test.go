package braintreelab_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/braintreelab"
	"kith/backend/gateway/braintree"
)

// walk runs random actions in a lab, and computes separately, day by day, what each
// subscription should have cost.
type walk struct {
	t    *testing.T
	lab  *braintreelab.Lab
	rand *rand.Rand
	// today is the day in the lab, and subs has the subscriptions in order of creation.
	today time.Time
	subs  []*account
	// byHand counts declined charges by hand.
	byHand map[string]int
	made   int
}

// account is the expected state of a subscription. Money is in cents.
type account struct {
	id              string
	first           time.Time
	months          int
	price, discount int64
	// cycles is the number of cycles, 0 for no end, and billed the number so far.
	cycles, billed int
	canceled       bool
	due            int64
}

// month returns the day n months after from, or the last day of that month.
func month(from time.Time, n int) time.Time {
	at := time.Date(from.Year(), from.Month()+time.Month(n), from.Day(), 0, 0, 0, 0, time.UTC)
	if at.Day() != from.Day() {
		at = at.AddDate(0, 0, -at.Day())
	}
	return at
}

// live bills the account on a day if it is due.
func (a *account) live(today time.Time) {
	if !a.canceled && (a.cycles == 0 || a.billed < a.cycles) && today.Equal(month(a.first, a.billed*a.months)) {
		a.due += a.price - a.discount
		a.billed++
	}
}

func newWalk(t *testing.T, seed uint64) *walk {
	lab, err := braintreelab.New(braintreelab.Options{Now: func() time.Time { return start }})
	require.NoError(t, err)
	return &walk{t: t, lab: lab, rand: rand.New(rand.NewPCG(seed, 0)), today: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), byHand: map[string]int{}}
}

// control uses a control, and reports whether it succeeded.
func (w *walk) control(name, form string) bool {
	answer := browse(w.t, bundle{Lab: w.lab}, "POST", "/lab/"+name, form)
	return answer.Code == http.StatusOK
}

// call makes a call, and reports whether it succeeded.
func (w *walk) call(method, path, body string) bool {
	r := httptest.NewRequest(method, "/merchants/lab_merchant"+path, strings.NewReader(body))
	r.SetBasicAuth(labKey.Public, labKey.Private)
	r.Header.Set("Content-Type", "application/json")
	answer := httptest.NewRecorder()
	w.lab.ServeHTTP(answer, r)
	require.Contains(w.t, []int{200, 201, 404, 422}, answer.Code, answer.Body)
	return answer.Code < 300
}

func (w *walk) subscribe() {
	w.made++
	a := &account{id: fmt.Sprintf("s%d", w.made), first: w.today, months: 1, price: 100 * (1 + w.rand.Int64N(90)), cycles: w.rand.IntN(6)}
	plan, trial := "pro", w.rand.IntN(30)
	if w.rand.IntN(4) == 0 {
		plan, a.months = "yearly", 12
	}
	fields := fmt.Sprintf(`"id":%q,"plan_id":%q,"payment_method_token":%q,"price":%q`, a.id, plan, w.card(), braintree.NewAmount(a.price, "USD"))
	if a.cycles > 0 {
		fields += fmt.Sprintf(`,"number_of_billing_cycles":%d`, a.cycles)
	}
	if trial > 9 {
		a.first = a.first.AddDate(0, 0, trial)
		fields += fmt.Sprintf(`,"trial_period":true,"trial_duration":%d,"trial_duration_unit":"day"`, trial)
	}
	if w.rand.IntN(2) == 0 {
		a.discount = w.rand.Int64N(10000)
		fields += fmt.Sprintf(`,"discounts":{"add":[{"inherited_from_id":"svc_discount","amount":%q}]}`, braintree.NewAmount(a.discount, "USD"))
	}
	if w.call("POST", "/subscriptions", `{"subscription":{`+fields+`}}`) {
		a.live(w.today)
		w.subs = append(w.subs, a)
	}
}

func (w *walk) card() string {
	customers := w.lab.State().Customers
	return customers[w.rand.IntN(len(customers))].Cards[0]
}

// edit changes price or discount, sometimes with proration.
func (w *walk) edit() {
	if len(w.subs) == 0 {
		return
	}
	a := w.subs[w.rand.IntN(len(w.subs))]
	before := w.state(a.id)
	price, discount, fields := a.price, a.discount, ""
	if w.rand.IntN(2) == 0 {
		price = 100 * (1 + w.rand.Int64N(90))
		fields = fmt.Sprintf(`"price":%q,`, braintree.NewAmount(price, "USD"))
	} else {
		discount = w.rand.Int64N(10000)
		change := fmt.Sprintf(`"add":[{"inherited_from_id":"svc_discount","amount":%q}]`, braintree.NewAmount(discount, "USD"))
		if len(before.Discounts) > 0 {
			change = fmt.Sprintf(`"update":[{"existing_id":"svc_discount","amount":%q}]`, braintree.NewAmount(discount, "USD"))
		}
		fields = `"discounts":{` + change + `},`
	}
	prorate := w.rand.IntN(2) == 0
	if !w.call("PUT", "/subscriptions/"+a.id, fmt.Sprintf(`{"subscription":{%s"options":{"prorate_charges":%t}}}`, fields, prorate)) {
		return
	}
	if prorate && before.Status == braintree.Active && a.billed > 0 {
		from, to := month(a.first, (a.billed-1)*a.months), month(a.first, a.billed*a.months)
		whole := int64(to.Sub(from).Hours() / 24)
		left := int64(to.Sub(w.today).Hours()/24) - 1
		a.due += rounded((price-discount)-(a.price-a.discount), left, whole)
	}
	a.price, a.discount = price, discount
}

// rounded is amount * part / whole, half away from zero.
func rounded(amount, part, whole int64) int64 {
	product, half := amount*part, whole/2
	if product < 0 {
		return -((-product + half) / whole)
	}
	return (product + half) / whole
}

func (w *walk) state(id string) braintreelab.SubscriptionState { return find(w.lab.State(), id) }

func find(state braintreelab.State, id string) braintreelab.SubscriptionState {
	all := state.Subscriptions
	return all[slices.IndexFunc(all, func(s braintreelab.SubscriptionState) bool { return s.ID == id })]
}

func (w *walk) cancel() {
	if len(w.subs) == 0 {
		return
	}
	if a := w.subs[w.rand.IntN(len(w.subs))]; w.control("cancel", "subscription="+a.id) {
		a.canceled = true
	}
}

func (w *walk) retry() {
	for _, a := range w.subs {
		if w.state(a.id).Status == braintree.PastDue && !w.control("retry", "subscription="+a.id) {
			w.byHand[a.id]++
		}
	}
}

// moveMoney tries to refund, void or settle a random transaction, which may be refused.
func (w *walk) moveMoney() {
	all := w.lab.State().Transactions
	if len(all) == 0 {
		return
	}
	t := all[w.rand.IntN(len(all))]
	switch w.rand.IntN(3) {
	case 0:
		w.call("POST", "/transactions/"+t.ID+"/refund", fmt.Sprintf(`{"transaction":{"amount":%q}}`, braintree.NewAmount(1+w.rand.Int64N(6000), "USD")))
	case 1:
		w.call("PUT", "/transactions/"+t.ID+"/void", "")
	default:
		w.call("PUT", "/transactions/"+t.ID+"/settle", "")
	}
}

// advance advances the clock by days, in steps of the given length.
func (w *walk) advance(days, step int) {
	for days > 0 {
		n := min(step, days)
		require.True(w.t, w.control("advance", fmt.Sprintf("by=%dd", n)))
		days -= n
		for range n {
			w.today = w.today.AddDate(0, 0, 1)
			for _, a := range w.subs {
				a.live(w.today)
			}
		}
	}
}

// step runs one random action; stride is the step of the clock in days.
func (w *walk) step(stride int) {
	switch w.rand.IntN(9) {
	case 0, 1:
		w.subscribe()
	case 2:
		w.edit()
	case 3:
		if w.rand.IntN(3) == 0 {
			w.cancel()
		}
	case 4:
		w.control("decline", fmt.Sprintf("customer=c%d&on=%t", w.rand.IntN(3), w.rand.IntN(3) > 0))
	case 5:
		w.retry()
	case 6:
		w.moveMoney()
	default:
		w.advance(1+w.rand.IntN(50), stride)
	}
}

// legal has the allowed changes of a subscription's status.
var legal = map[braintree.Status][]braintree.Status{
	"":                {braintree.Pending, braintree.Active},
	braintree.Pending: {braintree.Active, braintree.PastDue, braintree.Canceled},
	braintree.Active:  {braintree.PastDue, braintree.Canceled, braintree.Expired},
	braintree.PastDue: {braintree.Active, braintree.Canceled},
}

// check compares the lab's state with the computed accounts.
func (w *walk) check() {
	state := w.lab.State()
	charged, declined := w.money(state)
	notified := map[string]int{}
	for _, n := range state.Notifications {
		notified[string(n.Kind)+" "+n.Subject]++
	}
	for _, a := range w.subs {
		s := find(state, a.id)
		balance, err := s.Balance.Minor("USD")
		require.NoError(w.t, err)
		require.Equal(w.t, a.due, charged[a.id]+balance, "%s: the amount due is paid or on the balance: %+v %+v", a.id, a, s)
		require.Equal(w.t, s.Status == braintree.PastDue, balance > 0 && s.Status != braintree.Canceled, "%s has a balance if and only if it is past due", a.id)
		require.Equal(w.t, a.billed, s.Cycle, a.id)
		var before braintree.Status
		for _, status := range s.Statuses {
			require.Contains(w.t, legal[before], status, "%s: %v", a.id, s.Statuses)
			before = status
		}
		require.Equal(w.t, declined[a.id]-w.byHand[a.id], notified["subscription_charged_unsuccessfully "+a.id], a.id)
		require.Equal(w.t, s.Status == braintree.Canceled, notified["subscription_canceled "+a.id] == 1, a.id)
		require.Equal(w.t, s.Status == braintree.Expired, notified["subscription_expired "+a.id] == 1, a.id)
	}
	w.checkRefunds(state)
}

// money sums the successful charges, and counts the declined ones, by subscription.
func (w *walk) money(state braintreelab.State) (charged map[string]int64, declined map[string]int) {
	charged, declined = map[string]int64{}, map[string]int{}
	good := map[string]int{}
	for _, t := range state.Transactions {
		amount, err := t.Amount.Minor("USD")
		require.NoError(w.t, err)
		require.Positive(w.t, amount)
		switch {
		case t.Kind == braintree.Credit:
		case t.Status == braintree.ProcessorDeclined:
			declined[t.Subscription]++
		default:
			charged[t.Subscription] += amount
			good[t.Subscription]++
		}
	}
	for _, n := range state.Notifications {
		if n.Kind == braintree.SubscriptionChargedSuccessfully {
			good[n.Subject]--
		}
	}
	for id, n := range good {
		require.Zero(w.t, n, "every successful charge of %s has one notification", id)
	}
	return charged, declined
}

// checkRefunds checks that no charge is refunded by more than its amount.
func (w *walk) checkRefunds(state braintreelab.State) {
	left := map[string]int64{}
	for _, t := range state.Transactions {
		amount, err := t.Amount.Minor("USD")
		require.NoError(w.t, err)
		if t.Kind == braintree.Sale {
			left[t.ID] = amount
			continue
		}
		if t.Status != braintree.Voided {
			left[t.RefundOf] -= amount
		}
		require.GreaterOrEqual(w.t, left[t.RefundOf], int64(0), "%s", t.RefundOf)
	}
}

func walked(t *testing.T, seed uint64, stride int) braintreelab.State {
	w := newWalk(t, seed)
	for i := range 3 {
		require.True(t, w.control("customers", fmt.Sprintf("id=c%d", i)))
	}
	for range 60 {
		w.step(stride)
		w.check()
	}
	state := w.lab.State()
	state.Calls = nil
	return state
}

// After any actions in any order, every amount due is paid or owed, refunds do not exceed
// charges, and statuses change only in the allowed ways.
func TestWalk_MoneyIsConserved(t *testing.T) {
	t.Parallel()
	charges, statuses := 0, map[braintree.Status]int{}
	for seed := range uint64(40) {
		state := walked(t, seed, 100)
		charges += len(state.Transactions)
		for _, s := range state.Subscriptions {
			statuses[s.Status]++
		}
	}
	require.Greater(t, charges, 1000, "the walk made enough charges")
	require.Len(t, statuses, 4, "%v", statuses)
}

// The state is the same whether the clock advances by weeks or by days.
func TestWalk_StepsOfTheClockDoNotMatter(t *testing.T) {
	t.Parallel()
	for seed := range uint64(15) {
		require.Equal(t, walked(t, seed, 100), walked(t, seed, 1), "seed %d", seed)
	}
}
