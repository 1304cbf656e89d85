package app_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/core"
	"kith/core/conversion"
	"kith/core/referral"
	"kith/core/reward"
)

// The same in a program that has converted by an event before, and does again later.
func TestMoneyBack_ProgramChanges(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.owner(t, "anna", "ANNA10")
	b.shop(t)
	b.pass(core.Second)
	update := func(change func(*referral.Program)) {
		t.Helper()
		_, err := b.Programs.Update(t.Context(), b.tenant, core.ClassicProgram, func(p *referral.Program) error {
			change(p)
			return nil
		})
		require.NoError(t, err)
		b.pass(core.Second)
	}
	b.identify(t, "by-order", b.cookie("ANNA10"))
	b.purchase(t, "by-order", "1", "80")
	b.process(t)
	b.pass(core.Second)
	update(func(p *referral.Program) {
		p.Conversion, p.MoneyBack = conversion.Rule{}, referral.DefaultMoneyBack
		p.Referrer, p.ReferredTerms, p.ReferrerTerms = reward.Offer{Kind: reward.Credit, Amount: 1000, Currency: "USD"}, conversion.Terms{}, conversion.Terms{}
	})
	for _, account := range []string{"paid", "paid-too"} {
		b.identify(t, account, b.cookie("ANNA10"))
		b.sync(t, account, referral.Paid, "")
	}
	b.sync(t, "by-order", referral.Paid, "")
	require.NoError(t, b.log(t, "paid", "", `{"key":"refund"}`))
	require.NoError(t, b.log(t, "by-order", "", `{"key":"refund"}`))
	b.process(t)
	require.Equal(t, "DENIED/DENIED, CANCELLED/CANCELLED", b.statuses(t, "paid"))
	require.Equal(t, referral.MoneyBack, b.referral(t, "paid").Moderation.Refused)
	require.Empty(t, b.orders(t, "paid"), "it is no refund of an order")
	require.Empty(t, b.referral(t, "by-order").Moderation.Refused, "it converted by an order")
	require.EqualValues(t, 800+1000, b.balance(t, "anna"))
	update(func(p *referral.Program) { p.Conversion = conversion.Rule{Event: "purchase", Reversal: "refund"} })
	require.NoError(t, b.log(t, "paid-too", "", `{"key":"refund"}`))
	b.process(t)
	require.Empty(t, b.referral(t, "paid-too").Moderation.Refused, "the program has no first payment now")
}

// A refund of all of the first payment takes the rewards back within the window of the
// program, once, and a moderator may give them again (spec 10.4.7).
func TestMoneyBack(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.owner(t, "anna", "ANNA10")
	added := referral.DefaultProgram("https://shop.example/")
	added.Key = "new"
	program, err := b.Programs.Create(t.Context(), b.tenant, added)
	require.NoError(t, err)
	require.Equal(t, referral.DefaultMoneyBack, program.MoneyBack, "a new program has a window")
	program, err = b.Programs.Update(t.Context(), b.tenant, core.ClassicProgram, func(p *referral.Program) error {
		require.Zero(t, p.MoneyBack, "one from before the setting has none")
		p.MoneyBack = referral.DefaultMoneyBack
		return nil
	})
	require.NoError(t, err)
	for account, c := range map[string]struct {
		after  core.Time
		fields string
		key    string
		taken  bool
	}{
		"at-once":  {0, `{"reason":"wanted it back"}`, "refund", true},
		"last-day": {referral.DefaultMoneyBack, "{}", "refund", true},
		"late":     {referral.DefaultMoneyBack + 1, "{}", "refund", false},
		"before":   {-1, "{}", "refund", false},
		"part":     {0, `{"revenue":5}`, "refund", false},
		"unread":   {0, `{"revenue":"$5"}`, "refund", false},
		"of-order": {0, `{"order_id":"1"}`, "refund", false},
		"money":    {0, `{"currency":"dollars"}`, "refund", false},
		"other":    {0, "{}", "returned", false},
	} {
		b.identify(t, account, b.cookie("ANNA10"))
		paid := b.sync(t, account, referral.Paid, "").Standing.FirstPaid
		require.Equal(t, referral.Converted, b.state(t, account))
		require.NoError(t, b.log(t, account, "", fmt.Sprintf(`{"key":%q,"dateTriggered":%d,"fields":%s}`, c.key, paid+c.after, c.fields)))
		b.process(t)
		want := "APPROVED/APPROVED, AVAILABLE/AVAILABLE"
		if c.taken {
			want = "DENIED/DENIED, CANCELLED/CANCELLED"
		}
		require.Equal(t, want, b.statuses(t, account), account)
		ref := b.referral(t, account)
		require.Equal(t, c.taken, ref.Moderation.Refused == referral.MoneyBack, account)
		require.Equal(t, referral.Converted, ref.State, "%s: the account has paid", account)
	}
	balances, err := b.Rewards.Balances(t.Context(), b.tenant, "anna", "", reward.Credit)
	require.NoError(t, err)
	require.EqualValues(t, 7*1000, balances[0].Available())

	// An approval before the refund is none of it; one after it stays.
	refund := func(account string, at core.Time) {
		t.Helper()
		require.NoError(t, b.log(t, account, "", fmt.Sprintf(`{"key":"refund","dateTriggered":%d}`, at)))
		b.process(t)
	}
	b.moderate(t, "part", referral.Approve)
	b.pass(core.Second)
	refund("part", b.Now())
	require.Equal(t, "DENIED/DENIED, CANCELLED/CANCELLED", b.statuses(t, "part"))
	refunded := b.Now()
	b.pass(core.Second)
	b.moderate(t, "part", referral.Approve)
	refund("part", refunded)
	b.pass(core.Second)
	refund("part", b.Now())
	require.Equal(t, "APPROVED/APPROVED, AVAILABLE/AVAILABLE", b.statuses(t, "part"), "a moderator has decided")

	// A change without the window keeps it, and 0 turns it off.
	for _, window := range []core.Time{referral.KeepMoneyBack, 0} {
		program, err = b.Programs.Update(t.Context(), b.tenant, core.ClassicProgram, func(p *referral.Program) error {
			p.MoneyBack = window
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, map[core.Time]core.Time{referral.KeepMoneyBack: referral.DefaultMoneyBack}[window], program.MoneyBack)
	}
	b.identify(t, "off", b.cookie("ANNA10"))
	b.sync(t, "off", referral.Paid, "")
	refund("off", b.Now())
	require.Equal(t, "APPROVED/APPROVED, AVAILABLE/AVAILABLE", b.statuses(t, "off"))
}
