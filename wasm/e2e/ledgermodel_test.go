package e2e

import (
	"cmp"
	"database/sql"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The model of the ledger decides the orders of a program from docs/money.md alone, all at
// once and without the code of the service.
//
// The program gave 5.00 and 3.00 USD for PAID, and then, by the event purchase, 10 % of the
// first two orders of a friend that earn, and 3.00 USD to the friend for the first one. The
// referrers get at most modelLimit rewards.
const (
	modelOrders = 2
	modelLimit  = 5
	modelBefore = 1000 // ms
)

// modelEvent is a purchase or a refund of a friend; revenue and currency are JSON, or "".
type modelEvent struct {
	friend, order, refundID, revenue, currency string
	refund                                     bool
	at                                         int64
}

func (e modelEvent) json() string {
	fields := fmt.Sprintf(`"order_id":%q`, e.order)
	for name, value := range map[string]string{"revenue": e.revenue, "currency": e.currency} {
		if value != "" {
			fields += fmt.Sprintf(`,%q:%s`, name, value)
		}
	}
	if e.refundID != "" {
		fields += fmt.Sprintf(`,"refund_id":%q`, e.refundID)
	}
	key := "purchase"
	if e.refund {
		key = "refund"
	}
	return fmt.Sprintf(`{"key":%q,"dateTriggered":%d,"fields":{%s}}`, key, e.at, fields)
}

// cents returns the revenue in hundredths; ok is false if there is none, and fault is true if
// it cannot be read.
func (e modelEvent) cents() (n int64, ok, fault bool) {
	if e.revenue == "" {
		return 0, false, false
	}
	var whole, part int64
	if count, _ := fmt.Sscanf(e.revenue, "%d.%02d", &whole, &part); count == 0 || strings.ContainsAny(e.revenue, `"t`) {
		return 0, false, true
	}
	return whole*100 + part, true, false
}

// money returns the currency; fault is true if it is none.
func (e modelEvent) money() (currency string, fault bool) {
	switch c := strings.ToUpper(strings.Trim(e.currency, `"`)); c {
	case "":
		return "USD", false
	case "USD", "EUR", "JPY":
		return c, false
	}
	return "", true
}

// inMinor returns hundredths in minor units of a currency.
func inMinor(cents int64, currency string) int64 {
	if currency == "JPY" {
		return halfEven(cents, 1, 100)
	}
	return cents
}

// halfEven returns a*b/c, rounded half to even.
func halfEven(a, b, c int64) int64 {
	n := a * b / c
	if rest := 2 * (a * b % c); rest > c || rest == c && n%2 == 1 {
		n++
	}
	return n
}

// modelSide is what a side earns for an order.
type modelSide struct {
	Reason, Currency string
	Value, Reversed  int64
}

// modelOrder is a decided order, as the API shows it.
type modelOrder struct {
	friend, fault      string
	at                 int64
	Order, Reason      string
	Currency           string
	Revenue, Number    int64
	Refunded           bool
	Referrer, Referred modelSide
}

// modelFriend is a referral; paidAt is 0 unless it converted by PAID.
type modelFriend struct {
	referrer      string
	since, paidAt int64
	denied        bool
}

// merged returns the orders of the events of a friend, and how much of each was refunded.
func merged(friend string, events []modelEvent) (orders []modelOrder, refunded map[string]int64) {
	refunded = map[string]int64{}
	byOrder := map[string][]modelEvent{}
	for _, e := range events {
		if e.friend == friend {
			byOrder[e.order] = append(byOrder[e.order], e)
		}
	}
	faultOf := func(e modelEvent) string {
		if _, _, bad := e.cents(); bad {
			return "revenue-unreadable"
		}
		if _, bad := e.money(); bad {
			return "currency-unreadable"
		}
		return ""
	}
	for key, all := range byOrder {
		// What can be read counts first, then what was earlier.
		slices.SortFunc(all, func(a, b modelEvent) int {
			return cmp.Or(cmp.Compare(min(len(faultOf(a)), 1), min(len(faultOf(b)), 1)), cmp.Compare(a.at, b.at))
		})
		i := slices.IndexFunc(all, func(e modelEvent) bool { return !e.refund })
		if i < 0 {
			continue
		}
		placed := all[i]
		o := modelOrder{friend: friend, Order: key, at: placed.at, fault: faultOf(placed)}
		o.Currency, _ = placed.money()
		if n, ok, _ := placed.cents(); ok && o.fault == "" {
			o.Revenue = inMinor(n, o.Currency)
		}
		// A refund without a revenue is of the whole order.
		refunds := slices.DeleteFunc(slices.Clone(all), func(e modelEvent) bool { return !e.refund })
		slices.SortFunc(refunds, func(a, b modelEvent) int {
			sound := func(e modelEvent) int {
				if faultOf(e) != "" {
					return 1
				}
				return 0
			}
			return cmp.Or(cmp.Compare(sound(a), sound(b)), cmp.Compare(a.at, b.at))
		})
		seen := map[string]bool{}
		for _, e := range refunds {
			if e.refundID != "" && seen[e.refundID] {
				continue
			}
			seen[e.refundID] = true
			n, ok, bad := e.cents()
			currency, badCurrency := e.money()
			if e.currency == "" {
				currency = o.Currency
			}
			switch {
			case bad || badCurrency:
			case !ok:
				o.Refunded = true
			case n == 0 || o.fault != "":
			case o.Revenue == 0:
				o.Refunded = true
			case currency == o.Currency:
				refunded[key] += inMinor(n, currency)
			}
		}
		o.Refunded = o.Refunded || o.Revenue > 0 && refunded[key] >= o.Revenue
		orders = append(orders, o)
	}
	return orders, refunded
}

// decideModel decides all orders of a referrer.
func decideModel(referrer string, friends map[string]modelFriend, events []modelEvent) map[string]modelOrder {
	var all []modelOrder
	refunds, first := map[string]map[string]int64{}, map[string]int64{}
	rewards := 0
	number, earned := map[string]int64{}, map[string][2]int{}
	for name, f := range friends {
		if f.referrer != referrer {
			continue
		}
		orders, refunded := merged(name, events)
		refunds[name] = refunded
		for _, o := range orders {
			if first[name] == 0 || o.at < first[name] {
				first[name] = o.at
			}
		}
		all = append(all, orders...)
		if f.paidAt != 0 {
			number[name], earned[name] = 1, [2]int{1, 1}
			if !f.denied {
				rewards++
			}
		}
	}
	slices.SortFunc(all, func(a, b modelOrder) int { return cmp.Compare(a.at, b.at) })
	decided := map[string]modelOrder{}
	for _, o := range all {
		f := friends[o.friend]
		since := f.since
		if o.at%1000 == 0 {
			since -= since % 1000
		}
		if o.at < since && (o.at != first[o.friend] || number[o.friend] > 0 || o.at < since-modelBefore) {
			o.Reason, o.Referrer.Reason, o.Referred.Reason = "before-attribution", "before-attribution", "before-attribution"
			decided[o.friend+" "+o.Order] = o
			continue
		}
		number[o.friend]++
		o.Number = number[o.friend]
		share := func(value int64) int64 {
			switch amount := refunds[o.friend][o.Order]; {
			case o.Refunded:
				return value
			case amount > 0:
				return halfEven(value, min(amount, o.Revenue), o.Revenue)
			}
			return 0
		}
		count := earned[o.friend]
		switch value := halfEven(o.Revenue, 10, 100); {
		case count[0] >= modelOrders:
			o.Referrer.Reason = "all-orders-rewarded"
		case o.fault != "":
			o.Referrer.Reason = o.fault
		case o.Revenue == 0:
			o.Referrer.Reason = "no-revenue"
		case value == 0:
			o.Referrer.Reason = "less-than-one-minor-unit"
		case f.denied:
			o.Referrer.Reason = "referral-denied"
		case rewards >= modelLimit:
			o.Referrer.Reason = "limit-of-rewards"
		default:
			o.Referrer = modelSide{Currency: o.Currency, Value: value, Reversed: share(value)}
			if !o.Refunded {
				rewards++
				count[0]++
			}
		}
		switch {
		case count[1] >= 1:
			o.Referred.Reason = "all-orders-rewarded"
		case f.denied:
			o.Referred.Reason = "referral-denied"
		default:
			o.Referred = modelSide{Currency: "USD", Value: 300, Reversed: share(300)}
			if !o.Refunded {
				count[1]++
			}
		}
		earned[o.friend] = count
		decided[o.friend+" "+o.Order] = o
	}
	return decided
}

// shownOrders returns the orders of an account's referral from the API.
func (s *store) shownOrders(t *testing.T, tenant, friend string, into map[string]modelOrder) {
	t.Helper()
	for _, o := range s.shown(t, tenant, friend) {
		if o["eventId"] == nil {
			continue // only refunds of it came
		}
		text := func(v any) string { s, _ := v.(string); return s }
		whole := func(v any) int64 { n, _ := v.(float64); return int64(n) }
		code := func(v any) string { m, _ := v.(map[string]any); return text(m["code"]) }
		side := func(name string) (out modelSide) {
			given := o["rewards"].(map[string]any)[name].(map[string]any)
			if out.Reason = code(given["reason"]); out.Reason == "" {
				reward := given["reward"].(map[string]any)
				out.Currency, out.Value, out.Reversed = text(reward["currency"]), whole(reward["assignedCredit"]), whole(reward["reversedValue"])
			}
			return out
		}
		into[friend+" "+text(o["orderId"])] = modelOrder{
			Order: text(o["orderId"]), Reason: code(o["reason"]), Currency: text(o["currency"]), Revenue: whole(o["revenueInCents"]),
			Number: whole(o["number"]), Refunded: o["refunded"] == true, Referrer: side("referrer"), Referred: side("referred"),
		}
	}
}

// modelHistory returns random events of friends from now on, each at a time of its own.
func modelHistory(r *rand.Rand, friends []string, n int) (events []modelEvent) {
	now, times, used := time.Now().UnixMilli(), r.Perm(20*n), map[int64]bool{}
	for i := range n {
		e := modelEvent{friend: friends[r.IntN(len(friends))], refund: r.IntN(3) == 0, at: now + int64(times[i])}
		if r.IntN(2) == 0 {
			e.at += 3_600_000
		}
		if r.IntN(10) == 0 {
			e.at += 1000 - e.at%1000 // in whole seconds, and not before the program converts by events
		}
		for used[e.at] {
			e.at += 1000
		}
		used[e.at] = true
		e.order = fmt.Sprintf("o-%d", r.IntN(n/len(friends)/2+1))
		e.revenue = []string{"", "0", `"$20"`, `"20,00"`, "true", `" "`, fmt.Sprintf("%d.%02d", 1+r.IntN(90), r.IntN(100))}[min(r.IntN(20), 6)]
		e.currency = []string{"", `"€"`, `"eur"`, `"JPY"`, `"EUR"`, `"USD"`}[min(r.IntN(12), 5)]
		if e.refund && r.IntN(3) == 0 {
			e.refundID = fmt.Sprintf("r-%d", r.IntN(3))
		}
		events = append(events, e)
	}
	return events
}

// The service decides as the model does, whatever the order in which events come, however
// often they are sent, and whichever process is killed meanwhile.
func TestLedger_AgreesWithTheModel(t *testing.T) {
	seeds, size, kills := uint64(1), 120, 2
	if long() {
		seeds, size, kills = 10, 1000, 10
	} else {
		t.Parallel()
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(43, seed))
		s := storeGrounds[int(seed)%len(storeGrounds)].open(t)
		tenant := "test_" + alias(t, s.site, "ledger")
		receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		t.Cleanup(receiver.Close)
		s.site.ok(t, "webhook", "allow", "127.0.0.1", "--tenant", tenant)
		s.site.subscribe(t, tenant, receiver.URL)
		s.call(t, "PUT", tenant, "/programs/classic", `{"name":"Shop","sharing":{"url":"https://x.example/"},"limits":{"rewards":5},
			"rewards":{"referrer":{"type":"CREDIT","unit":"CENTS","currency":"USD","credit":500},"referred":{"type":"CREDIT","unit":"CENTS","currency":"USD","credit":300}}}`)
		referrers, friends := []string{"anna", "ben"}, map[string]modelFriend{}
		var names []string
		for i, id := range referrers {
			s.identify(t, tenant, id, fmt.Sprintf(`{"referralCode":"CODE%d"}`, i))
		}
		refer := func(i int, name string) {
			s.identify(t, tenant, name, fmt.Sprintf(`{"referredByCodes":["CODE%d"]}`, i%2))
			friends[name] = modelFriend{referrer: referrers[i%2]}
		}
		for i := range 10 {
			names = append(names, fmt.Sprintf("friend%d", i))
		}
		s.synced()
		for i, name := range names[:4] {
			refer(i, name)
			if i < 3 {
				s.call(t, "POST", tenant, "/accountsync", fmt.Sprintf(`{"id":%q,"subscription":{"status":"PAID"}}`, name))
			}
		}
		s.settled(t)
		s.call(t, "PUT", tenant, "/programs/classic", fmt.Sprintf(`{"name":"Shop","sharing":{"url":"https://x.example/"},"limits":{"rewards":%d},
			"conversion":{"event":"purchase","beforeDuration":"PT1S"},"rewards":{"referrer":{"type":"CREDIT","unit":"CENTS","currency":"USD","percentOfRevenue":10,"orders":%d},
			"referred":{"type":"CREDIT","unit":"CENTS","currency":"USD","credit":300,"orders":1}}}`, modelLimit, modelOrders))
		// The last three are referred after their events have come.
		for i, name := range names[4:7] {
			refer(i, name)
		}
		for _, name := range names[7:] {
			s.identify(t, tenant, name, `{}`)
		}
		read := func() {
			for name, f := range friends {
				found := decode[struct {
					Referrals []struct{ DateReferralStarted, DateConverted int64 }
				}](t, s.call(t, "GET", tenant, "/referrals?referredAccountId="+name, ""))
				f.since = found.Referrals[0].DateReferralStarted
				if slices.Contains(names[:3], name) {
					f.paidAt = found.Referrals[0].DateConverted
				}
				friends[name] = f
			}
		}
		moderate := func(name, action string) {
			id := decode[struct{ Referrals []struct{ ID string } }](t, s.call(t, "GET", tenant, "/referrals?referredAccountId="+name, "")).Referrals[0].ID
			s.call(t, "POST", tenant, "/referrals/moderate", `{"actions":[{"referralId":"`+id+`","action":"`+action+`"}]}`)
			f := friends[name]
			f.denied = action == "DENIED"
			friends[name] = f
		}
		moderate(names[1], "DENIED")
		moderate(names[4], "DENIED")
		moderate(names[6], "DENIED")
		// What a block holds is given back.
		s.call(t, "POST", tenant, "/account/ben/user/ben/block", `{"rewards":"HOLD"}`)
		s.synced()
		began, events := time.Now(), modelHistory(r, names, size)
		var calls []orderCall
		for rest := events; len(rest) > 0; {
			c := orderCall{account: rest[0].friend, key: fmt.Sprintf("ledger-%06d", len(calls))}
			for ; len(rest) > 0 && len(c.events) < 3 && rest[0].friend == c.account; rest = rest[1:] {
				c.events = append(c.events, rest[0].json())
			}
			calls = append(calls, c)
		}
		sent := slices.Concat(calls, calls[:len(calls)/3])
		r.Shuffle(len(sent), func(i, j int) { sent[i], sent[j] = sent[j], sent[i] })
		var done atomic.Int64
		result := make(chan error, 1)
		go func() { result <- s.sendAll(tenant, 4, sent, &done) }()
		for n := range kills {
			await(t, func() error {
				if got := int(done.Load()); got < len(sent)*(n+1)/(kills+1) {
					return fmt.Errorf("%d calls were answered", got)
				}
				return nil
			})
			s.killOne(t, r)
		}
		require.NoError(t, <-result)
		s.settled(t)
		await(t, func() error {
			if left := time.Until(began.Add(3 * modelBefore * time.Millisecond)); left > 0 {
				return fmt.Errorf("some events are not yet too old for a referral, for %v", left)
			}
			return nil
		})
		s.call(t, "POST", tenant, "/account/ben/user/ben/unblock", "")
		s.synced()
		for i, name := range names[7:] {
			refer(i, name)
		}
		moderate(names[5], "DENIED")
		moderate(names[6], "APPROVED")
		moderate(names[1], "APPROVED")
		moderate(names[1], "DENIED")
		s.settled(t)
		s.synced()
		read()

		want, got := map[string]modelOrder{}, map[string]modelOrder{}
		reasons := map[string]int{}
		owed := map[string]map[string]int64{}
		owe := func(who, currency string, amount int64) {
			if owed[who] == nil {
				owed[who] = map[string]int64{}
			}
			owed[who][currency] += amount
		}
		for _, referrer := range referrers {
			for key, o := range decideModel(referrer, friends, events) {
				owe(referrer, o.Referrer.Currency, o.Referrer.Value-o.Referrer.Reversed)
				owe(o.friend, o.Referred.Currency, o.Referred.Value-o.Referred.Reversed)
				reasons[o.Referrer.Reason]++
				o.friend, o.fault, o.at = "", "", 0
				want[key] = o
			}
		}
		for _, name := range names {
			s.shownOrders(t, tenant, name, got)
			if f := friends[name]; f.paidAt != 0 && !f.denied {
				owe(f.referrer, "USD", 500)
				owe(name, "USD", 300)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(want)) {
			require.Equal(t, want[key], got[key], "seed %d: %s, events %s", seed, key, about(events, key))
		}
		require.Len(t, got, len(want), "seed %d", seed)
		for _, who := range slices.Concat(referrers, names) {
			for currency, amount := range owed[who] {
				require.Equal(t, amount, s.assigned(t, tenant, who)[currency], "seed %d: %s has %s", seed, who, currency)
			}
		}
		s.requireExported(t, tenant, owed)
		// What is redeemed with one key is redeemed once.
		for currency, amount := range owed[referrers[0]] {
			if amount <= 0 {
				continue
			}
			body := fmt.Sprintf(`{"accountId":%q,"unit":"CENTS","currency":%q,"amount":%d}`, referrers[0], currency, amount)
			for _, status := range atOnce(4, func(int) int {
				a, _ := call("POST", s.edge()+"/api/v1/"+tenant+"/credit/bulkredeem", body, s.site.auth(tenant), "Idempotency-Key: redeem-all-"+currency)
				return a.status
			}) {
				require.Equal(t, http.StatusOK, status)
			}
		}
		for _, reason := range []string{"", "all-orders-rewarded", "limit-of-rewards", "referral-denied", "revenue-unreadable", "no-revenue", "before-attribution"} {
			require.Positive(t, reasons[reason], "seed %d: orders with the reason %q of %v", seed, reason, reasons)
		}
		t.Logf("seed %d: %d events, %d calls, %v", seed, len(events), len(sent), reasons)
	}
}

// assigned returns the given credit of an account by its currency.
func (s *store) assigned(t *testing.T, tenant, account string) map[string]int64 {
	t.Helper()
	sums := map[string]int64{}
	for _, b := range decode[[]struct {
		Currency            string
		TotalAssignedCredit int64
	}](t, s.call(t, "GET", tenant, "/reward/balance?accountId="+account, "")) {
		sums[b.Currency] += b.TotalAssignedCredit
	}
	return sums
}

// reported returns what the webhooks of a tenant report: the newest balance of each user and
// currency, and the ids of the rewards that were given. It reads the stored events: one that
// two kills cut off is sent again after 5 minutes.
func reported(t *testing.T, db *sql.DB, tenant string) (balances map[string]int64, given map[string]bool) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), `SELECT coalesce(data ->> 'id', ''), coalesce(data ->> 'userId', '') || ' ' || coalesce(data ->> 'currency', ''),
		coalesce(data ->> 'availableValue', 0) FROM webhook_event WHERE tenant = ? AND type IN ('reward.created', 'user.reward.balance.changed') ORDER BY seq`, tenant)
	require.NoError(t, err)
	defer rows.Close()
	balances, given = map[string]int64{}, map[string]bool{}
	for rows.Next() {
		var reward, whose string
		var available int64
		require.NoError(t, rows.Scan(&reward, &whose, &available))
		if reward != "" {
			given[reward] = true
		} else {
			balances[whose] = available
		}
	}
	require.NoError(t, rows.Err())
	return balances, given
}

// requireExported exports all rewards, and asserts that they have what the model owes, and
// that the webhooks report each that was given, and the balances.
func (s *store) requireExported(t *testing.T, tenant string, owed map[string]map[string]int64) {
	t.Helper()
	base := s.site.edge + "/api/v1/" + tenant + "/export"
	id := decode[struct{ ID string }](t, mustCall(t, http.StatusCreated, "POST", base, `{"type":"REWARD"}`, s.site.auth(tenant), "Content-Type: application/json")).ID
	await(t, func() error {
		if status := decode[struct{ Status string }](t, mustCall(t, http.StatusOK, "GET", base+"/"+id, "", s.site.auth(tenant))).Status; status != "COMPLETED" {
			return fmt.Errorf("the export is %s", status)
		}
		return nil
	})
	rows, err := csv.NewReader(strings.NewReader(mustCall(t, http.StatusOK, "GET", base+"/"+id+"/download", "", s.site.auth(tenant)).body)).ReadAll()
	require.NoError(t, err)
	got, given := map[string]map[string]int64{}, []string{}
	for _, row := range rows[1:] {
		cell := func(name string) string { return row[slices.Index(rows[0], name)] }
		amount := func(name string) int64 { n, _ := strconv.ParseInt(cell(name), 10, 64); return n }
		if cell("dateCancelled") != "" {
			continue
		}
		if got[cell("accountId")] == nil {
			got[cell("accountId")] = map[string]int64{}
		}
		got[cell("accountId")][cell("currency")] += amount("assignedCredit") - amount("reversedCredit")
		if cell("dateGiven") != "" {
			given = append(given, strings.Join(row, ","))
		}
	}
	for user, all := range owed {
		for currency, amount := range all {
			require.Equal(t, amount, got[user][currency], "%s has %s", user, currency)
		}
	}
	db := s.site.open(t)
	await(t, func() error {
		balances, known := reported(t, db, tenant)
		for _, one := range given {
			if id, _, _ := strings.Cut(one, ","); !known[id] {
				return fmt.Errorf("no webhook reports the reward %s", one)
			}
		}
		for user, all := range owed {
			for currency, amount := range all {
				if got := balances[user+" "+currency]; currency != "" && got != amount {
					return fmt.Errorf("%s has %d %s, and the webhooks report %d", user, amount, currency, got)
				}
			}
		}
		return nil
	})
}

// about returns the events of an order, for the message of a failure.
func about(events []modelEvent, key string) string {
	friend, order, _ := strings.Cut(key, " ")
	text, _ := json.Marshal(order)
	for _, e := range events {
		if e.friend == friend && e.order == order {
			text = append(text, "\n"+e.json()...)
		}
	}
	return string(text)
}
