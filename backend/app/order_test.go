package app_test

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/app/statistics"
	"kith/backend/app/users"
	"kith/backend/store"
	"kith/backend/store/eventdb"
	"kith/backend/store/orderdb"
	"kith/backend/testenv"
	"kith/core"
	"kith/core/analytics"
	"kith/core/conversion"
	"kith/core/event"
	"kith/core/job"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/state"
	"kith/core/webhook"
	"kith/core/wire"
)

// tenPercent is a credit of 10 % of an order.
var tenPercent = reward.Offer{Kind: reward.Credit, OfRevenue: 1000, Currency: "USD"}

// shop makes the program convert by the event purchase: 10 % of each order for the
// referrer, and 10 % off for the friend.
func (b bundle) shop(t testing.TB, change ...func(*referral.Program)) {
	t.Helper()
	_, err := b.Programs.Update(t.Context(), b.tenant, core.ClassicProgram, func(p *referral.Program) error {
		p.Conversion = conversion.Rule{Event: "purchase", Reversal: "refund"}
		p.Referrer, p.ReferredTerms.Orders = tenPercent, 1
		for _, c := range change {
			c(p)
		}
		return nil
	})
	require.NoError(t, err)
}

// log logs events of the user "u" of an account with the API key. events is JSON.
func (b bundle) log(t testing.TB, account, key, events string) error {
	t.Helper()
	call, err := wire.ParseEvents(core.AccountID(account), "u", []byte(`{"events":[`+events+`]}`))
	require.NoError(t, err)
	call.Key = core.IdempotencyKey(key)
	by := b.keyHolder(t)
	_, err = b.Events.Log(t.Context(), by, call)
	return err
}

// purchase logs an order, and refund a refund of it; an empty revenue is left out.
func (b bundle) purchase(t testing.TB, account, order, revenue string) {
	t.Helper()
	require.NoError(t, b.log(t, account, "", orderJSON("purchase", order, revenue, b.Now())))
}

func (b bundle) refund(t testing.TB, account, order, revenue string) {
	t.Helper()
	require.NoError(t, b.log(t, account, "", orderJSON("refund", order, revenue, b.Now())))
}

func orderJSON(key, order, revenue string, at core.Time) string {
	fields := fmt.Sprintf(`"order_id":%q,"currency":"USD"`, order)
	if revenue != "" {
		fields += `,"revenue":` + revenue
	}
	return fmt.Sprintf(`{"key":%q,"dateTriggered":%d,"fields":{%s}}`, key, at, fields)
}

// failingLog returns a log that fails the test with each line.
func failingLog(t testing.TB) *slog.Logger { return slog.New(slog.NewTextHandler(failure{t}, nil)) }

type failure struct{ t testing.TB }

// Write implements io.Writer.
func (f failure) Write(line []byte) (int, error) {
	f.t.Errorf("logged: %s", line)
	return len(line), nil
}

// process applies all events that wait.
func (b bundle) process(t testing.TB) {
	t.Helper()
	b.processIntake(t)
	for more := true; more; {
		var err error
		more, err = b.Orders.Apply(t.Context(), failingLog(t))
		require.NoError(t, err)
	}
}

func (b bundle) processIntake(t testing.TB) {
	t.Helper()
	for waits := true; waits; {
		require.NoError(t, b.DB.Write(t.Context(), b.Now(), func(tx *store.Tx) error {
			_, err := eventdb.ProcessIntake(t.Context(), tx, 100)
			return err
		}))
		var err error
		waits, err = eventdb.IntakeWaits(t.Context(), b.DB.Reads)
		require.NoError(t, err)
	}
}

// orders returns the orders of an account's referral, the earliest first, as "ORDER:
// NUMBER, REFERRER, FRIEND": what each side earned, less what refunds took back, or why
// it earns nothing.
func (b bundle) orders(t testing.TB, account string) (lines []string) {
	t.Helper()
	ref := b.referral(t, account)
	if ref == nil {
		return nil
	}
	page, _, err := b.Orders.List(t.Context(), b.tenant, ref.ID, 10_000, 0)
	require.NoError(t, err)
	for _, o := range page {
		line := o.Order.Key + ":"
		if o.Number == 0 {
			lines = append(lines, line+" "+string(o.Reason))
			continue
		}
		line += fmt.Sprintf(" %d", o.Number)
		for side, w := range o.Rewards {
			switch {
			case o.Sides[side].Reason != "":
				line += ", " + string(o.Sides[side].Reason)
				if w != nil {
					require.Zero(t, w.Left(), "%s: a reward that the order does not earn", line)
				}
			case w == nil:
				line += ", none"
			case w.Sums.Reversed > 0:
				line += fmt.Sprintf(", %d-%d", w.Offer.Value(), w.Sums.Reversed)
			default:
				line += fmt.Sprintf(", %d", w.Offer.Value())
			}
			if w != nil && w.Offer.Currency == "EUR" && o.Sides[side].Reason == "" {
				line += " EUR"
			}
		}
		lines = append(lines, line)
	}
	slices.Reverse(lines)
	return lines
}

// conversions returns how many conversions the referrer had up to each order of an
// account's referral, the earliest order first.
func (b bundle) conversions(t testing.TB, account string) (numbers []int64) {
	t.Helper()
	ref := b.referral(t, account)
	if ref == nil {
		return nil
	}
	page, _, err := b.Orders.List(t.Context(), b.tenant, ref.ID, 10_000, 0)
	require.NoError(t, err)
	for _, o := range page {
		numbers = append(numbers, o.Conversion)
	}
	slices.Reverse(numbers)
	return numbers
}

// balance returns the sum that the ledger has of the rewards of an account, by unit.
func (b bundle) balance(t testing.TB, account string) int64 {
	t.Helper()
	sum, err := store.One[int64](t.Context(), b.DB.Reads, "ledger", `SELECT coalesce(sum(l.amount), 0) FROM reward_ledger l
		JOIN reward r ON r.tenant = l.tenant AND r.id = l.reward_id WHERE l.tenant = ? AND r.account_id = ? AND r.unit = 'CENTS'`, string(b.tenant), account)
	require.NoError(t, err)
	return sum
}

func TestOrders_Convert(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		b.shop(t, func(p *referral.Program) { p.Referrer.GivenAfter = 30 * core.Day })
		b.identify(t, "friend", claim(referral.SourceInit, "ANNA10"))
		b.identify(t, "stranger")
		b.pass(1)
		b.purchase(t, "friend", "o-1", "80")
		b.purchase(t, "stranger", "o-2", "80")
		b.process(t)
		require.Equal(t, []string{"o-1: 1, 800, 1000"}, b.orders(t, "friend"))
		require.Empty(t, b.orders(t, "stranger"))

		ref := b.referral(t, "friend")
		require.Equal(t, referral.Converted, ref.State)
		require.Equal(t, referral.Converted, b.state(t, "friend"))
		require.Equal(t, reward.StatusPending, ref.ReferrerReward.Status(b.Now()))
		require.Equal(t, "o-1", ref.ReferrerReward.Order)

		b.refund(t, "friend", "o-1", "20")
		b.process(t)
		require.Equal(t, []string{"o-1: 1, 800-200, 1000"}, b.orders(t, "friend"))
		b.pass(30 * core.Day)
		b.settle(t)
		require.Equal(t, reward.StatusAvailable, b.referral(t, "friend").ReferrerReward.Status(b.Now()))
		require.EqualValues(t, 600, b.balance(t, "anna"))
		require.EqualValues(t, 600, b.referral(t, "friend").ReferrerReward.Available(b.Now()))
	})
}

// Exports of changes have a referral whose reward is earned later, and one whose user is deleted.
func TestOrders_ChangesAreExported(t *testing.T) {
	onOwnServer(t, func(t *testing.T, b bundle) {
		b.shop(t)
		b.identify(t, "friend", claim(referral.SourceInit, "ANNA10"))
		changed := func() int {
			made := b.create(t, b.jobInput(job.Referral, fmt.Sprintf(`{"updatedSince":%d}`, b.Now())))
			return len(b.rows(t, made.ID, job.ResultFile)) - 1
		}
		b.purchase(t, "friend", "free", "0")
		b.process(t)
		b.pass(core.Day)
		require.Zero(t, changed())
		b.purchase(t, "friend", "paid", "80")
		b.process(t)
		require.NotNil(t, b.referral(t, "friend").ReferrerReward)
		require.Equal(t, 1, changed())
		b.pass(core.Day)
		require.Zero(t, changed())
		require.NoError(t, b.Erasures.DeleteUser(t.Context(), b.tenant, "friend", "u", users.DeleteOptions{}))
		require.Equal(t, 1, changed())
	})
}

// A referral converts when its first order was placed, however late the order arrives: the
// figures of that day count it. The referral has changed now, so exports of changes have it.
// On a server of its own: the date is at most that of the clock of the bundle that applies
// the order, and each bundle applies the orders of all.
func TestOrders_ConvertWhenPlaced(t *testing.T) {
	onOwnServer(t, func(t *testing.T, b bundle) {
		b.shop(t, func(*referral.Program) {})
		b.identify(t, "friend", claim(referral.SourceInit, "ANNA10"))
		started := b.referral(t, "friend").Started
		b.pass(20 * core.Day)
		placed := func(order string, at core.Time) {
			require.NoError(t, b.log(t, "friend", "", orderJSON("purchase", order, "80", at)))
			b.process(t)
		}
		changed := func(typ job.Type, since core.Time) int {
			made := b.create(t, b.jobInput(typ, fmt.Sprintf(`{"updatedSince":%d}`, since)))
			return len(b.rows(t, made.ID, job.ResultFile)) - 1
		}
		exported := func() {
			t.Helper()
			for _, typ := range []job.Type{job.Referral, job.UserReferral} {
				require.Equal(t, 1, changed(typ, b.Now()), typ)
				require.Zero(t, changed(typ, b.Now()+1), typ)
			}
		}
		converted := func() core.Time { return b.referral(t, "friend").Converted }
		placed("second", started+5*core.Day)
		require.Equal(t, started+5*core.Day, converted())
		exported()
		b.pass(core.Day)
		placed("first", started+2*core.Day)
		require.Equal(t, started+2*core.Day, converted(), "an earlier order arrives later")
		exported()
		b.pass(core.Day)
		placed("third", started+3*core.Day)
		require.Equal(t, started+2*core.Day, converted())
		for _, typ := range []job.Type{job.Referral, job.UserReferral} {
			require.Zero(t, changed(typ, b.Now()), typ)
		}
		days := func(from, until core.Time) (n int64) {
			s, err := b.Analytics.Series(t.Context(), b.tenant, statistics.Range{Interval: analytics.Daily, From: from, Until: until}, analytics.SeriesFilter{})
			require.NoError(t, err)
			for _, p := range s.Points {
				n += p.Converted
			}
			return n
		}
		day := converted() - converted()%core.Day
		require.EqualValues(t, 1, days(day, day+core.Day))
		require.Zero(t, days(day+core.Day, b.Now()+core.Day))
	})
}

// A purchase that carries a code attributes and converts in one call (spec 1.2).
func TestOrders_AttributeByEvent(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		b.shop(t)
		b.identify(t, "friend")
		require.NoError(t, b.log(t, "friend", "", `{"key":"purchase","fields":{"order_id":7,"revenue":80,"currency":"usd","referral_code":"anna10"}}`))
		require.NoError(t, b.log(t, "anna", "", `{"key":"purchase","fields":{"order_id":"self","revenue":80,"referral_code":"ANNA10"}}`))
		require.NoError(t, b.log(t, "bert", "", `{"key":"browse","fields":{"referral_code":"ANNA10"}}`))
		b.process(t)
		require.Equal(t, []string{"7: 1, 800, 1000"}, b.orders(t, "friend"))
		require.Equal(t, []string{"fields.referral_code ANNA10: first-code"}, b.rules(t, "friend"))
		require.Empty(t, b.orders(t, "anna"))
		require.Equal(t, []string{"fields.referral_code ANNA10: self-referral-account"}, b.rules(t, "anna"))
		require.Nil(t, b.referral(t, "bert"))
	})
}

// Orders of an account that is not referred are not queued. If a later event refers the
// account, also by a field with an escaped name, they are in its history.
func TestOrders_BeforeTheReferral(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		b.shop(t)
		b.identify(t, "friend")
		at := b.Now()
		require.NoError(t, b.log(t, "friend", "", orderJSON("refund", "o-2", "4", at-2)+","+orderJSON("purchase", "o-1", "10", at-2)))
		require.NoError(t, b.DB.Write(t.Context(), b.Now(), func(tx *store.Tx) error {
			_, err := eventdb.ProcessIntake(t.Context(), tx, 100)
			return err
		}))
		queued, err := store.One[int](t.Context(), b.DB.Reads, "queued", `SELECT count(*) FROM order_event WHERE tenant = ?`, string(b.tenant))
		require.NoError(t, err)
		require.Zero(t, queued)
		require.NoError(t, b.log(t, "friend", "", fmt.Sprintf(
			`{"key":"purchase","dateTriggered":%d,"fields":{"order_id":"o-2","revenue":20,"currency":"USD","referral\u005fcode":"ANNA10"}}`, at-1)))
		b.process(t)
		require.Equal(t, []string{"o-1: before-attribution", "o-2: 1, 200-40, 1000"}, b.orders(t, "friend"))
		b.purchase(t, "friend", "o-3", "10")
		b.process(t)
		require.Len(t, b.orders(t, "friend"), 3)
	})
}

// Orders that came before the code count as soon as the account is referred, without a
// further event, if they are dated ahead, or if the first one was placed shortly before
// (conversion.Rule.Before).
func TestOrders_AreCountedWhenTheAccountIsReferred(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		b.shop(t, func(p *referral.Program) { p.Conversion.Before = conversion.DefaultBefore })
		for account, at := range map[string]core.Time{"ahead": core.Hour, "shortly": -conversion.DefaultBefore, "long": -conversion.DefaultBefore - 1, "second": -core.Minute} {
			b.identify(t, account)
			require.NoError(t, b.log(t, account, "", orderJSON("purchase", "o", "10", b.Now()+at)))
			if account == "second" {
				require.NoError(t, b.log(t, account, "", orderJSON("purchase", "first", "10", b.Now()-core.Day)))
			}
		}
		b.process(t)
		for account, want := range map[string][]string{
			"ahead": {"o: 1, 100, 1000"}, "shortly": {"o: 1, 100, 1000"}, "long": {"o: before-attribution"}, "second": {"first: before-attribution", "o: before-attribution"},
		} {
			b.identify(t, account, claim(referral.SourceInit, "ANNA10"))
			b.process(t)
			require.Equal(t, want, b.orders(t, account), account)
		}
	})
}

// An order that was returned in full does not use up the number of orders that earn, nor the
// limit of the referrer.
func TestOrders_ReturnedUsesNothingUp(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		b.shop(t, func(p *referral.Program) { p.ReferrerTerms.Orders, p.Limits.Total = 1, 1 })
		b.identify(t, "friend", claim(referral.SourceInit, "ANNA10"))
		b.purchase(t, "friend", "o-1", "10")
		b.pass(1)
		b.purchase(t, "friend", "o-2", "20")
		b.process(t)
		require.Equal(t, []string{"o-1: 1, 100, 1000", "o-2: 2, all-orders-rewarded, all-orders-rewarded"}, b.orders(t, "friend"))
		b.pass(1)
		b.refund(t, "friend", "o-1", "")
		b.process(t)
		require.Equal(t, []string{"o-1: 1, 100-100, 1000-1000", "o-2: 2, 200, 1000"}, b.orders(t, "friend"))
		b.pass(1)
		b.purchase(t, "friend", "o-3", "30")
		b.process(t)
		require.Equal(t, "o-3: 3, all-orders-rewarded, all-orders-rewarded", b.orders(t, "friend")[2])
	})
}

// Each step of an order is sent to the webhooks of the tenant (clients 6.5).
func TestOrders_Webhooks(t *testing.T) {
	withDeliveries(t, func(t *testing.T, b bundle) {
		b.shop(t)
		b.identify(t, "friend", claim(referral.SourceInit, "ANNA10"))
		queue := b.subscribe(t, hook)
		counts := func() map[webhook.Type]int {
			n := map[webhook.Type]int{}
			for _, one := range b.sent(t, queue) {
				n[one]++
			}
			delete(n, webhook.RewardBalanceChanged)
			return n
		}
		b.purchase(t, "friend", "o", "80")
		b.process(t)
		require.Equal(t, map[webhook.Type]int{webhook.ReferralConverted: 1, webhook.RewardCreated: 2}, counts())
		b.refund(t, "friend", "o", "20")
		b.process(t)
		require.Equal(t, map[webhook.Type]int{webhook.ReferralConverted: 1, webhook.RewardCreated: 2, webhook.RewardReversed: 1}, counts(), "a part of the friend's discount is not taken back")
		// What is refunded already changes nothing.
		b.refund(t, "friend", "o", "60")
		b.process(t)
		b.refund(t, "friend", "o", "1")
		b.process(t)
		require.Equal(t, map[webhook.Type]int{webhook.ReferralConverted: 1, webhook.RewardCreated: 2, webhook.RewardReversed: 3}, counts())
	})
}

// In a program that converts by an event, an account that becomes PAID converts nothing.
func TestOrders_PaidDoesNotConvert(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		b.shop(t)
		b.identify(t, "friend", claim(referral.SourceInit, "ANNA10"), paid)
		require.Equal(t, referral.InProgress, b.state(t, "friend"))
		b.sync(t, "friend", referral.Paid, "")
		require.Equal(t, referral.InProgress, b.state(t, "friend"))
		b.sync(t, "first", referral.Paid, "BERT20")
		b.identify(t, "first")
		require.Equal(t, referral.InProgress, b.state(t, "first"))
		b.purchase(t, "friend", "o", "10")
		b.process(t)
		require.Equal(t, []string{"o: 1, 100, 1000"}, b.orders(t, "friend"))
	})
}

// Any page can send events of its user, so those convert nothing.
func TestOrders_OnlyTrustedEventsCount(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.shop(t)
	b.identify(t, "friend", claim(referral.SourceInit, "ANNA10"))
	call, err := wire.ParseEvents("friend", "u", []byte(`{"events":[{"key":"purchase","fields":{"revenue":1000}}]}`))
	require.NoError(t, err)
	_, err = b.Events.Log(t.Context(), b.user(t, "friend"), call)
	require.NoError(t, err)
	b.process(t)
	require.Empty(t, b.orders(t, "friend"))
	require.Equal(t, referral.InProgress, b.state(t, "friend"))
}

// The reward of a referral is that of its first order, also if orders were decided at one moment.
func TestOrders_RewardOfTheFirst(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.shop(t)
	const friends = 8
	for i := range friends {
		friend := "friend" + strconv.Itoa(i)
		b.identify(t, friend, claim(referral.SourceInit, "ANNA10"))
		for n := range 3 {
			require.NoError(t, b.log(t, friend, "", orderJSON("purchase", "o-"+strconv.Itoa(n), "80", start+core.Time(n))))
		}
	}
	b.pass(core.Second)
	b.process(t)
	for i := range friends {
		ref := b.referral(t, "friend"+strconv.Itoa(i))
		require.Equal(t, "o-0", ref.ReferrerReward.Order)
	}
}

// While a tenant is being restored or erased it has rows, but does not exist: its orders and
// replays wait, and neither they nor its calls delay other tenants.
func TestOrders_WaitUntilTheTenantIsRestored(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	other := bundleOn(t, b.DB)
	alias := func(old, now core.TenantAlias) {
		t.Helper()
		require.NoError(t, b.DB.WriteWithoutForeignKeys(t.Context(), b.Now(), func(tx *store.Tx) error {
			return tx.Exec(t.Context(), "rename", `UPDATE tenant SET alias = ? WHERE alias = ?`, string(now), string(old))
		}))
	}
	for _, in := range []bundle{b, other} {
		in.shop(t)
		in.identify(t, "friend", claim(referral.SourceInit, "ANNA10"))
	}
	in, ref := b.tenant, b.referral(t, "friend")
	b.purchase(t, "friend", "o-1", "80")
	b.processIntake(t)
	require.NoError(t, b.DB.Write(t.Context(), b.Now(), func(tx *store.Tx) error {
		return orderdb.PutReplay(t.Context(), tx, in, state.Replay{Program: ref.Program, Referrer: ref.Referrer})
	}))
	b.purchase(t, "friend", "erased", "80")
	other.purchase(t, "friend", "o-2", "80")
	alias(in, "absent")
	b.process(t)
	require.Equal(t, []string{"o-2: 1, 800, 1000"}, other.orders(t, "friend"))
	waiting, err := store.One[int](t.Context(), b.DB.Reads, "waiting", `SELECT (SELECT count(*) FROM order_event) + (SELECT count(*) FROM order_replay)`)
	require.NoError(t, err)
	require.Equal(t, 2, waiting)
	alias("absent", in)
	b.process(t)
	require.Equal(t, []string{"o-1: 1, 800, 1000"}, b.orders(t, "friend"))
}

// A change of the program does not change what earlier orders earn, even if their events
// arrive after it.
func TestOrders_EarlierTerms(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.shop(t)
	b.identify(t, "friend", claim(referral.SourceInit, "ANNA10"))
	b.pass(10)
	before := b.Now()
	b.pass(10)
	b.shop(t, func(p *referral.Program) { p.Referrer.OfRevenue = 1500 })
	b.pass(10)
	b.purchase(t, "friend", "new", "10")
	require.NoError(t, b.log(t, "friend", "", orderJSON("purchase", "old", "10", before)))
	b.process(t)
	require.Equal(t, []string{"old: 1, 100, 1000", "new: 2, 150, all-orders-rewarded"}, b.orders(t, "friend"))
}

// Denied sides get nothing, and approved ones get what the orders have earned meanwhile.
func TestOrders_Moderation(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.shop(t)
	b.identify(t, "friend", claim(referral.SourceInit, "ANNA10"))
	b.purchase(t, "friend", "o-1", "10")
	b.purchase(t, "friend", "o-2", "20")
	b.process(t)
	b.moderate(t, "friend", referral.Deny)
	b.purchase(t, "friend", "o-3", "30")
	b.process(t)
	require.Zero(t, b.balance(t, "anna"))
	b.moderate(t, "friend", referral.Approve)
	b.process(t)
	require.EqualValues(t, 600, b.balance(t, "anna"))
	require.Equal(t, []string{"o-1: 1, 100, 1000", "o-2: 2, 200, all-orders-rewarded", "o-3: 3, 300, all-orders-rewarded"}, b.orders(t, "friend"))
}

// From the denial on, nothing of a referral can be used, though workers cancel the rewards for
// its orders later; an approval takes nothing away meanwhile.
func TestOrders_NothingIsUsedOfDenied(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.shop(t, func(p *referral.Program) { p.ReferredTerms.Orders = 0 })
	b.identify(t, "friend", claim(referral.SourceInit, "ANNA10"))
	for i := range 4 {
		b.purchase(t, "friend", fmt.Sprint("o-", i), "10")
	}
	b.process(t)
	draw := func(account core.AccountID) error {
		_, err := b.Redemptions.Draw(t.Context(), b.tenant, reward.Draw{Account: account, User: "u", Unit: "CENTS", Amount: 1})
		return err
	}
	require.NoError(t, draw("anna"))
	b.moderate(t, "friend", referral.Approve)
	require.NoError(t, draw("anna"))
	b.moderate(t, "friend", referral.DenyReferrer)
	require.ErrorContains(t, draw("anna"), "is more than the 0 CENTS that are available")
	all, _, err := b.Rewards.List(t.Context(), b.tenant, reward.Filter{Account: "anna", Limit: 9})
	require.NoError(t, err)
	require.Len(t, all, 4)
	for _, w := range all {
		_, err := b.Redemptions.Draw(t.Context(), b.tenant, reward.Draw{Reward: w.ID, Unit: "CENTS", Amount: 1})
		require.Error(t, err)
	}
	b.process(t)
	require.Zero(t, b.balance(t, "anna"))
	require.Error(t, draw("anna"))
	b.moderate(t, "friend", referral.Approve)
	b.process(t)
	require.NoError(t, draw("anna"))
}

// A denied referral uses no limit up and raises no count that tiers read, also if it is
// approved later: the orders are then decided in their order.
func TestOrders_DeniedCountForNoLimit(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.shop(t, func(p *referral.Program) {
		p.Limits = referral.Limits{Total: 1}
		p.ReferredTerms.Tiers = []conversion.Tier{{From: 2, Value: 1500}}
	})
	for _, friend := range []string{"a", "b", "c"} {
		b.identify(t, friend, claim(referral.SourceInit, "ANNA10"))
	}
	b.moderate(t, "a", referral.Deny)
	b.purchase(t, "a", "o-1", "80")
	b.pass(1)
	b.purchase(t, "b", "o-2", "80")
	b.process(t)
	require.Equal(t, []string{"o-1: 1, referral-denied, referral-denied"}, b.orders(t, "a"))
	require.Equal(t, []string{"o-2: 1, 800, 1000"}, b.orders(t, "b"))

	// Convert, deny, convert another, approve the first: one reward.
	b.moderate(t, "b", referral.Deny)
	b.process(t)
	b.pass(1)
	b.purchase(t, "c", "o-3", "80")
	b.process(t)
	require.Equal(t, []string{"o-3: 1, 800, 1000"}, b.orders(t, "c"))
	b.moderate(t, "b", referral.Approve)
	b.process(t)
	require.Equal(t, []string{"o-2: 1, 800, 1000"}, b.orders(t, "b"))
	require.Equal(t, []string{"o-3: 1, limit-of-rewards, 1500"}, b.orders(t, "c"))
	require.EqualValues(t, 800, b.balance(t, "anna"))
}

// A program that moves from PAID to an event, or back, counts what its referrals have earned
// before: no referral is paid twice, limits and tiers continue.
func TestOrders_AfterPaid(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	terms := func(event string) func(*referral.Program) {
		return func(p *referral.Program) {
			p.Conversion = conversion.Rule{Event: event}
			if event != "" {
				p.Conversion.Reversal = "refund"
			}
			p.Referrer = reward.Offer{Kind: reward.Credit, Amount: 500, Currency: "USD"}
			p.ReferrerTerms, p.ReferredTerms = conversion.Terms{Tiers: []conversion.Tier{{From: 2, Value: 700}}}, conversion.Terms{}
			if event != "" {
				p.ReferrerTerms.Orders, p.ReferredTerms.Orders = 1, 1
			}
			p.Limits = referral.Limits{Total: 3}
		}
	}
	for _, friend := range []string{"a", "b", "c", "d", "e"} {
		b.identify(t, friend, claim(referral.SourceInit, "ANNA10"))
	}
	b.shop(t, terms(""))
	b.pass(1)
	b.sync(t, "a", referral.Paid, "")
	require.EqualValues(t, 500, b.balance(t, "anna"))

	b.pass(1)
	b.shop(t, terms("purchase"))
	b.pass(1)
	b.purchase(t, "a", "o-1", "80")
	b.pass(1)
	b.purchase(t, "b", "o-2", "80")
	b.process(t)
	require.Equal(t, []string{"o-1: 2, all-orders-rewarded, all-orders-rewarded"}, b.orders(t, "a"))
	require.Equal(t, []string{"o-2: 1, 700, 1000"}, b.orders(t, "b"), "the referrer's second conversion")
	require.EqualValues(t, 500+700, b.balance(t, "anna"))

	b.pass(1)
	b.shop(t, terms(""))
	b.pass(1)
	b.sync(t, "b", referral.Paid, "")
	b.sync(t, "c", referral.Paid, "")
	require.EqualValues(t, 500+700+700, b.balance(t, "anna"))
	b.sync(t, "d", referral.Paid, "")
	require.EqualValues(t, 500+700+700, b.balance(t, "anna"), "the limit of 3 counts both kinds")

	b.pass(1)
	b.shop(t, terms("purchase"))
	b.pass(1)
	b.purchase(t, "e", "o-3", "80")
	b.purchase(t, "a", "o-4", "80")
	b.process(t)
	require.Equal(t, []string{"o-3: 1, limit-of-rewards, 1000"}, b.orders(t, "e"))
	require.Equal(t, []string{"o-1: 2, all-orders-rewarded, all-orders-rewarded", "o-4: 3, all-orders-rewarded, all-orders-rewarded"}, b.orders(t, "a"))
	require.Equal(t, []string{"o-2: 1, 700, 1000"}, b.orders(t, "b"))
	require.EqualValues(t, 500+700+700, b.balance(t, "anna"))
}

// redeemedOrder returns a bundle whose referrer has redeemed some of the 800 cents that
// the order o-1 of the account friend gave.
func redeemedOrder(t *testing.T, cents int64) bundle {
	t.Helper()
	b := newBundle(t)
	b.shop(t)
	b.identify(t, "friend", claim(referral.SourceInit, "ANNA10"))
	b.pass(1000)
	b.purchase(t, "friend", "o-1", "80")
	b.process(t)
	_, err := b.Redemptions.Draw(t.Context(), b.tenant, reward.Draw{Account: "anna", User: "u", Unit: reward.UnitCents, Amount: cents})
	require.NoError(t, err)
	return b
}

// An earlier event of an order in another currency changes a reward of which nothing was
// redeemed. Else its number would be one of the old currency.
func TestOrders_OtherCurrencyAfterRedemption(t *testing.T) {
	t.Parallel()
	b := redeemedOrder(t, 1)
	log := func(key string, at core.Time, revenue int) {
		require.NoError(t, b.log(t, "friend", "", fmt.Sprintf(`{"key":%q,"dateTriggered":%d,"fields":{"order_id":"o-1","revenue":%d,"currency":"EUR"}}`, key, at, revenue)))
		b.process(t)
	}
	log("purchase", b.Now()-1, 100000)
	require.EqualValues(t, 799, b.balance(t, "anna"))
	require.Equal(t, "USD", b.referral(t, "friend").ReferrerReward.Offer.Currency)
	log("refund", b.Now(), 50000)
	require.EqualValues(t, 399, b.balance(t, "anna"), "half of the reward")
}

// An earlier event of an order, of the time of another version of the program, makes the reward
// one of that version, whatever its kind and unit.
func TestOrders_EarlierEventOfAnotherVersion(t *testing.T) {
	t.Parallel()
	credit := reward.Offer{Kind: reward.Credit, Amount: 5000, Currency: "USD", Name: "Fifty"}
	for name, later := range map[string]reward.Offer{
		"another unit": {Kind: reward.Credit, Amount: 1, Unit: "MONTHS"},
		"a discount":   {Kind: reward.PercentDiscount, Percent: 1000, ValidFor: core.Day},
		"a validity":   {Kind: reward.Credit, Amount: 4000, Currency: "USD", Name: "Fifty", ValidFor: core.Day},
		"a gift":       {Kind: reward.Integration, Amount: 200, Unit: "CENTS", Currency: "EUR", Settings: `{"a":1}`},
	} {
		for way, offers := range map[string][2]reward.Offer{"": {credit, later}, ", the other way": {later, credit}} {
			t.Run(name+way, func(t *testing.T) {
				t.Parallel()
				b := newBundle(t)
				b.shop(t, func(p *referral.Program) { p.Referrer = offers[0] })
				b.identify(t, "friend", claim(referral.SourceInit, "ANNA10"))
				b.pass(core.Minute)
				early := b.Now()
				b.pass(core.Minute)
				b.shop(t, func(p *referral.Program) { p.Referrer = offers[1] })
				b.pass(core.Minute)
				b.purchase(t, "friend", "o-1", "50")
				b.process(t)
				want := func(o reward.Offer) {
					t.Helper()
					got := b.referral(t, "friend").ReferrerReward
					require.True(t, got.Offer.Alike(o), got.Offer)
					require.Equal(t, []any{o.Value(), o.Name, o.Settings, got.Offer.Value()}, []any{got.Offer.Value(), got.Offer.Name, got.Offer.Settings, got.Left()})
					require.Equal(t, o.ValidFor, max(0, got.Expires-got.Created))
				}
				want(offers[1])
				require.NoError(t, b.log(t, "friend", "", orderJSON("purchase", "o-1", "50", early)))
				b.process(t)
				want(offers[0])
			})
		}
	}
}

// An order that was placed shortly before the attribution counts in any order of arrival.
func TestOrders_AttributionMovesBack(t *testing.T) {
	t.Parallel()
	for _, arrival := range []string{"abc", "acb", "bac", "bca", "cab", "cba"} {
		t.Run(arrival, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			b.shop(t, func(p *referral.Program) { p.Conversion.Before = conversion.DefaultBefore })
			b.identify(t, "friend")
			b.pass(core.Day)
			at := b.Now() - 2*core.Hour
			events := map[rune]string{
				'a': orderJSON("purchase", "a", "100", at-6*core.Minute),
				'b': strings.Replace(orderJSON("purchase", "b", "50", at-3*core.Minute), `"fields":{`, `"fields":{"referral_code":"ANNA10",`, 1),
				'c': strings.Replace(orderJSON("purchase", "c", "30", at+core.Hour), `"fields":{`, `"fields":{"referral_code":"ANNA10",`, 1),
			}
			for _, name := range arrival {
				require.NoError(t, b.log(t, "friend", "", events[name]))
				b.process(t)
			}
			require.EqualValues(t, 1000+500+300, b.balance(t, "anna"))
			require.Equal(t, []string{"a: 1, 1000, 1000", "b: 2, 500, all-orders-rewarded", "c: 3, 300, all-orders-rewarded"}, b.orders(t, "friend"))
		})
	}
}

// A refund after a denial makes a debt of what was used, as one before it does.
func TestOrders_RefundAfterDenial(t *testing.T) {
	t.Parallel()
	b := redeemedOrder(t, 300)
	b.moderate(t, "friend", referral.DenyReferrer)
	require.Zero(t, b.balance(t, "anna"))
	b.pass(1)
	b.refund(t, "friend", "o-1", "")
	b.process(t)
	require.EqualValues(t, -300, b.balance(t, "anna"))
	b.moderate(t, "friend", referral.ApproveReferrer)
	b.process(t)
	require.EqualValues(t, -300, b.balance(t, "anna"))
}

// Orders that find the tank empty get their codes when it is filled.
func TestOrders_FuelTank(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.shop(t, func(p *referral.Program) {
		p.Referrer = reward.Offer{Kind: reward.FuelTank, Unit: reward.UnitPercent, Amount: 1000}
	})
	b.fuel(t, "A")
	b.identify(t, "friend", claim(referral.SourceInit, "ANNA10"))
	for i := range 3 {
		b.purchase(t, "friend", fmt.Sprint("o-", i), "10")
		b.pass(1)
	}
	b.process(t)
	require.Equal(t, []string{"o-0: 1, 1000, 1000", "o-1: 2, no-code-left, all-orders-rewarded", "o-2: 3, no-code-left, all-orders-rewarded"}, b.orders(t, "friend"))
	b.fuel(t, "B", "C", "D")
	b.process(t)
	require.Equal(t, []string{"o-0: 1, 1000, 1000", "o-1: 2, 1000, all-orders-rewarded", "o-2: 3, 1000, all-orders-rewarded"}, b.orders(t, "friend"))
}

// Each order has the number of conversions that the referrer had up to it, also if the
// program has no tiers.
func TestOrders_NumberOfConversions(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.shop(t)
	for _, friend := range []string{"c", "a", "b", "a", "c"} {
		b.identify(t, friend, claim(referral.SourceInit, "ANNA10"))
		b.pass(1)
		b.purchase(t, friend, fmt.Sprint("o-", b.Now()), "10")
		b.process(t)
	}
	require.Equal(t, []int64{2, 3}, b.conversions(t, "a"))
	require.Equal(t, []int64{3}, b.conversions(t, "b"))
	require.Equal(t, []int64{1, 3}, b.conversions(t, "c"))
}

// A program that converts by PAID has tiers by the number of conversions too.
func TestConvert_Tiers(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	_, err := b.Programs.Update(t.Context(), b.tenant, core.ClassicProgram, func(p *referral.Program) error {
		p.ReferrerTerms.Tiers = []conversion.Tier{{From: 3, Value: 1500}}
		return nil
	})
	require.NoError(t, err)
	var got []int64
	for i := range 4 {
		friend := fmt.Sprint("friend", i)
		b.identify(t, friend, claim(referral.SourceInit, "ANNA10"), paid)
		got = append(got, b.referral(t, friend).ReferrerReward.Offer.Amount)
	}
	require.Equal(t, []int64{1000, 1000, 1500, 1500}, got)
}

// sentEvent is an event of a random walk.
type sentEvent struct{ account, key, json string }

// The ledger of a set of events does not depend on the order in which they arrive, on
// retries, or on how they are batched.
func TestOrders_EveryOrderOfArrivalEndsAlike(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		for _, seed := range testenv.Seeds(t) {
			r := rand.New(rand.NewPCG(seed, 3))
			var events []sentEvent
			for i := range 40 {
				e := sentEvent{account: fmt.Sprint("friend", r.IntN(4)), key: fmt.Sprintf("key-%04d", i)}
				key := []string{"purchase", "purchase", "refund"}[r.IntN(3)]
				fields := fmt.Sprintf(`"order_id":"o%d"`, r.IntN(6))
				if r.IntN(5) > 0 {
					fields += fmt.Sprintf(`,"revenue":%d.%03d`, r.IntN(90), r.IntN(1000))
				}
				if r.IntN(4) == 0 {
					fields += `,"currency":"EUR"`
				}
				if r.IntN(3) == 0 {
					fields += `,"referral_code":"ANNA10"`
				}
				e.json = fmt.Sprintf(`{"key":%q,"dateTriggered":%d,"fields":{%s}}`, key, start+core.Time(r.IntN(1000))*core.Second, fields)
				events = append(events, e)
			}
			var want []string
			for arrival := range 3 {
				one := bundleOn(t, b.DB)
				one.shop(t, func(p *referral.Program) {
					p.ReferrerTerms = conversion.Terms{Tiers: []conversion.Tier{{From: 2, OfRevenue: 2000}, {From: 3, OfRevenue: 3000}}, Orders: 3}
					p.Limits = referral.Limits{Total: 7, InPeriod: 3, Period: 200 * core.Second}
					p.Conversion.Conditions = []conversion.Condition{{Field: "revenue", Operator: conversion.MoreOrEqual, Values: []string{"5"}}}
				})
				for i := range 4 {
					one.identify(t, fmt.Sprint("friend", i))
				}
				for _, e := range events {
					require.NoError(t, one.log(t, e.account, e.key, e.json))
					if r.IntN(4) == 0 {
						require.Equal(t, event.Duplicate(""), one.log(t, e.account, e.key, e.json))
					}
					if r.IntN(6) == 0 {
						one.process(t)
					}
				}
				one.process(t)
				got := []string{fmt.Sprint("balance ", one.balance(t, "anna"))}
				for i := range 4 {
					friend := fmt.Sprint("friend", i)
					got = append(got, fmt.Sprint(friend, ": ", strings.Join(one.orders(t, friend), "; "), one.conversions(t, friend)))
				}
				if arrival == 0 {
					want = got
				}
				require.Equal(t, want, got, "seed %d, arrival %d", seed, arrival)
				r.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
			}
		}
	})
}

// Events that are sent and applied concurrently are each applied once.
func TestOrders_Race(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		b.shop(t)
		b.identify(t, "friend", claim(referral.SourceInit, "ANNA10"))
		log := failingLog(t)
		for _, err := range concurrently(func(i int) error {
			order := fmt.Sprint("o-", i/2)
			call, err := wire.ParseEvents("friend", "u", []byte(`{"events":[`+orderJSON([]string{"purchase", "refund"}[i%2], order, []string{"10", "4"}[i%2], b.Now())+`]}`))
			if err == nil {
				_, err = b.Events.Log(t.Context(), b.keyHolder(t), call)
			}
			if err == nil {
				err = b.DB.Write(t.Context(), b.Now(), func(tx *store.Tx) error {
					_, err := eventdb.ProcessIntake(t.Context(), tx, 3)
					return err
				})
			}
			if err == nil {
				_, err = b.Orders.Apply(t.Context(), log)
			}
			return err
		}) {
			require.NoError(t, err)
		}
		b.process(t)
		require.EqualValues(t, callersAtOnce/2*60, b.balance(t, "anna"))
	})
}

// The limits of a program also hold for the orders that a later transaction decides, since
// one transaction decides only so many.
func TestOrders_LimitsOfManyOrders(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		const orders, perCall, total = 1300, 100, 50
		b.shop(t, func(p *referral.Program) { p.Limits = referral.Limits{Total: total} })
		b.identify(t, "friend", claim(referral.SourceInit, "ANNA10"))
		// The latest order arrives first, so that all others are decided when the first one
		// has come.
		for from := orders - perCall; from >= 0; from -= perCall {
			var events []string
			for n := from; n < from+perCall; n++ {
				events = append(events, orderJSON("purchase", fmt.Sprintf("o-%04d", n), "10", start+core.Time(n)))
			}
			require.NoError(t, b.log(t, "friend", "", strings.Join(events, ",")))
			if from <= perCall {
				b.process(t)
			}
		}
		require.EqualValues(t, total*100, b.balance(t, "anna"))
		lines := b.orders(t, "friend")
		require.Equal(t, "o-0049: 50, 100, all-orders-rewarded", lines[total-1])
		require.Equal(t, "o-0050: 51, limit-of-rewards, all-orders-rewarded", lines[total])
	})
}

// Which event places an order, and which takes it back, is decided by the program at the time of
// the event, not of its arrival (spec 10.1.7).
func TestOrders_NamesOfTheTimeOfTheEvent(t *testing.T) {
	t.Parallel()
	for _, late := range []bool{false, true} {
		b := newBundle(t)
		b.shop(t, func(p *referral.Program) { p.Conversion.Event, p.Conversion.Reversal = "paid", "return" })
		b.identify(t, "friend", claim(referral.SourceInit, "ANNA10"))
		b.pass(core.Minute)
		at := b.Now()
		events := []string{orderJSON("created", "o-1", "50", at-2), orderJSON("paid", "o-1", "50", at-1), orderJSON("refund", "o-1", "20", at), orderJSON("return", "o-1", "10", at)}
		send := func(all ...string) {
			t.Helper()
			for _, one := range all {
				require.NoError(t, b.log(t, "friend", "", one))
			}
			b.process(t)
		}
		if !late {
			send(events...)
		}
		b.pass(core.Minute)
		b.shop(t, func(p *referral.Program) { p.Conversion.Event, p.Conversion.Reversal = "created", "refund" })
		b.pass(core.Minute)
		if late {
			send(events...)
		}
		require.EqualValues(t, 400, b.balance(t, "anna"), late)
		send(events[0])
		require.EqualValues(t, 400, b.balance(t, "anna"), "sent again")
	}
}

// A reward has all of its validity from when it was given: also if it earns again, or waited for a
// moderator (spec 10.3.5).
func TestOrders_WholeValidity(t *testing.T) {
	t.Parallel()
	valid := func(p *referral.Program) {
		p.Referrer = reward.Offer{Kind: reward.Credit, Amount: 1000, Currency: "USD", ValidFor: core.Hour}
		p.ReferrerTerms = conversion.Terms{Orders: 1}
	}
	t.Run("earned again", func(t *testing.T) {
		t.Parallel()
		b := newBundle(t)
		b.shop(t, valid)
		b.identify(t, "friend", claim(referral.SourceInit, "ANNA10"))
		b.pass(core.Minute)
		early := b.Now()
		b.pass(core.Minute)
		b.purchase(t, "friend", "o-2", "50")
		b.process(t)
		require.NoError(t, b.log(t, "friend", "", orderJSON("purchase", "o-1", "50", early)))
		b.process(t)
		b.pass(2 * core.Hour)
		require.NoError(t, b.log(t, "friend", "", orderJSON("refund", "o-1", "50", b.Now())))
		b.process(t)
		all, _, err := b.Rewards.List(t.Context(), b.tenant, reward.Filter{Account: "anna", Limit: 10})
		require.NoError(t, err)
		again := all[slices.IndexFunc(all, func(w reward.Reward) bool { return w.Order == "o-2" })]
		require.Equal(t, []any{reward.StatusAvailable, b.Now() + core.Hour}, []any{again.Status(b.Now()), again.Expires})
	})
	t.Run("held", func(t *testing.T) {
		t.Parallel()
		b := newBundle(t)
		b.shop(t, valid)
		b.fraud(t, referral.FraudPolicy{Handling: referral.HandleNone, BySignal: map[referral.Signal]referral.Handling{referral.SignalTempEmail: referral.HandlePending}})
		b.identify(t, "friend", claim(referral.SourceInit, "ANNA10"), email("friend@mailinator.com"))
		b.purchase(t, "friend", "o-1", "50")
		b.process(t)
		status := func() reward.Status {
			t.Helper()
			_, err := b.Rewards.Settle(t.Context())
			require.NoError(t, err)
			return b.referral(t, "friend").ReferrerReward.Status(b.Now())
		}
		b.pass(2 * core.Hour)
		require.Equal(t, reward.StatusPending, status())
		b.moderate(t, "friend", referral.Approve)
		b.pass(core.Hour - 1)
		require.Equal(t, reward.StatusAvailable, status())
		b.pass(1)
		require.Equal(t, reward.StatusExpired, status())
		require.Zero(t, b.balance(t, "anna"))
	})
}
