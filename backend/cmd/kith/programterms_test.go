package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/core/conversion"
	"kith/core/reward"
	"kith/core/wire"
)

// shop returns a function that runs a command on the program classic of a new tenant.
func shop(t *testing.T) func(command string, args ...string) (out, errOut string) {
	t.Helper()
	database := []string{"--master-key", storyKey, "--database-url", "file:" + filepath.Join(t.TempDir(), "kith.db")}
	var out, errOut strings.Builder
	require.Zero(t, run(append([]string{"tenant", "create", "shop", "--landing-url", "https://shop.example/"}, database...), &out, &errOut), errOut.String())
	return func(command string, args ...string) (string, string) {
		var out, errOut strings.Builder
		words := append(strings.Fields("program "+command+" --tenant shop"), database...)
		run(append(words, args...), &out, &errOut)
		return out.String(), errOut.String()
	}
}

func TestProgram_Conversion(t *testing.T) {
	kith := shop(t)
	line := func(out, name string) string {
		for l := range strings.Lines(out) {
			if rest, ok := strings.CutPrefix(l, name+" "); ok {
				return strings.TrimSpace(rest)
			}
		}
		return ""
	}
	out, errOut := kith("update classic", "--convert-event", "purchase", "--condition", "revenue >= 50", "--condition", "plan in (a, b)", "--within", "2160h",
		"--first-event", "--referrer-reward", "10% of revenue", "--referrer-max", "50.00 EUR", "--referrer-tier", "5=15%", "--referrer-tier", "10=17.5% of revenue",
		"--referrer-delay-days", "30", "--referrer-orders", "all", "--referrer-months", "12", "--referred-orders", "3")
	require.Empty(t, errOut)
	require.Equal(t, "the event purchase if revenue >= 50 and plan in (a, b), within 90 days of the attribution, the first order also up to 10m before the attribution, only the first one of the account", line(out, "converted by"))
	require.Equal(t, "the event refund", line(out, "taken back by"))
	require.Equal(t, "10% of revenue, at most 50.00 EUR; from conversion 5 on 15% of revenue; from conversion 10 on 17.5% of revenue; given after 30 days; "+
		"for all orders of a referral within 12 months", line(out, "referrer earns"))
	require.Equal(t, "10%; for the first 3 orders of a referral", line(out, "referred earns"))

	// What is not given stays as it is.
	out, errOut = kith("update classic", "--condition", "none", "--no-first-event", "--referrer-reward", "12% of revenue", "--referrer-tier", "none", "--within", "0s")
	require.Empty(t, errOut)
	require.Equal(t, "the event purchase, the first order also up to 10m before the attribution", line(out, "converted by"))
	require.Equal(t, "12% of revenue, at most 50.00 EUR; given after 30 days; for all orders of a referral within 12 months", line(out, "referrer earns"))

	// A program that converts by PAID is shown as before.
	out, errOut = kith("update classic", "--convert-event", "none", "--referrer-reward", "1500 JPY", "--referrer-max", "none", "--referrer-tier", "3=2000 JPY",
		"--referrer-months", "0", "--referred-orders", "all")
	require.Empty(t, errOut)
	require.Empty(t, line(out, "converted by"))
	require.Equal(t, "1500 JPY; from conversion 3 on 2000 JPY; given after 30 days", line(out, "referrer earns"))
	require.Equal(t, "10%", line(out, "referred earns"))

	// An order earns once, unless the command says otherwise.
	out, errOut = kith("create one-off", "--landing-url", "https://shop.example/", "--convert-event", "order", "--reversal-event", "return", "--referrer-reward", "5.000 KWD")
	require.Empty(t, errOut)
	require.Equal(t, "the event return", line(out, "taken back by"))
	require.Equal(t, "5.000 KWD; for the first order of a referral", line(out, "referrer earns"))
}

func TestProgram_ConversionRefused(t *testing.T) {
	kith := shop(t)
	_, errOut := kith("update classic", "--convert-event", "purchase", "--referrer-reward", "10% of revenue", "--referrer-min", "1.00 USD")
	require.Empty(t, errOut)
	const tier = "referrer-tier: must be the first conversion and a value like that of --referrer-reward, such as '5=15%' or '5=15.00 USD'; 'none' removes all"
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--referrer-tier", "5=x"}, tier},
		{[]string{"--referrer-tier", "15%"}, tier},
		{[]string{"--referrer-tier", "5=15%", "--referrer-tier", "3=12%"}, "referrer-tier: must be 2 to 1000 and more than in the tier before"},
		{[]string{"--referrer-reward", "5.00 USD", "--referrer-min", "none", "--referrer-tier", "5=5.00 EUR"}, tier},
		{[]string{"--referrer-orders", "0"}, "referrer-orders: must be 1 to 1000000, or 'all'"},
		{[]string{"--referrer-min", "5"}, "referrer-min: must be an amount such as '5.00 USD', or 'none'"},
		{[]string{"--referrer-max", "5.00 EUR"}, "referrer-max: must have the same currency as --referrer-min; give both, or 'none' for one"},
		{[]string{"--referrer-max", "0.50 USD"}, "referrer-max: must not be less than the minimum, and at most 1000000000000, or be left out"},
		{[]string{"--referrer-reward", "5.00 USD"}, "referrer-min: must be left out without percentOfRevenue: a fixed value has no minimum"},
		{[]string{"--referrer-reward", "5.5 JPY"}, "referrer-reward: must be 'none', a percentage such as '10%', an amount such as '10.00 USD' or '2 months', or '10% of revenue'"},
		{[]string{"--condition", "revenue"}, `condition: must be a condition such as "revenue >= 50", "currency = USD" or "plan in (pro, team)"`},
		{[]string{"--reversal-event", "purchase"}, "reversal-event: must differ from conversion.event; name another event, the default is refund"},
		{[]string{"--convert-event", "none"}, "referrer-reward: needs conversion.event: an account that becomes PAID has no revenue; give a fixed value or set the event"},
	} {
		_, errOut := kith("update classic", c.args...)
		require.Equal(t, "kith: "+c.want+"\n", errOut, c.args)
	}
}

func TestProgram_Try(t *testing.T) {
	kith := shop(t)
	_, errOut := kith("update classic", "--convert-event", "purchase", "--condition", "plan in (pro, team)", "--referrer-reward", "10% of revenue", "--referrer-tier", "5=15%")
	require.Empty(t, errOut)
	out, errOut := kith("try classic", "--event", "purchase", "--field", "revenue=80", "--field", "currency=USD", "--field", `plan=["free","pro"]`, "--conversions", "4")
	require.Empty(t, errOut)
	require.Equal(t, `✓ The event purchase converts referrals of this program.
✓ The condition plan in (pro, team) holds: plan is free, pro.
✓ It is the referral's 1st order that counts, so it converts the referral: the referrer's 5th conversion.
✓ The referrer earns $12.00: 15% of $80.00, by the tier from 5 conversions on.
✓ The friend earns 10%.
The event converts the referral.
`, out)
	out, errOut = kith("try classic", "--event", "purchase", "--field", "plan=007")
	require.Empty(t, errOut)
	require.Equal(t, `✓ The event purchase converts referrals of this program.
✗ The condition plan in (pro, team) fails: plan is 007.
The event earns nothing.
`, out)
	_, errOut = kith("try classic", "--event", "purchase", "--field", "revenue")
	require.Equal(t, "kith: field: must be NAME=VALUE, such as revenue=80\n", errOut)
	_, errOut = kith("try classic", "--event", "purchase", "--account", "bob", "--orders", "1")
	require.Contains(t, errOut, "can't be used together")
}

func TestOrderText(t *testing.T) {
	earned := reward.Reward{ID: "r1", Offer: reward.Offer{Kind: reward.Credit, Amount: 800, Unit: reward.UnitCents, Currency: "USD"}, Given: 1}
	earned, _ = earned.Reverse(200, 2)
	order := wire.Order{
		Order: conversion.Order{Key: "1042", Placed: conversion.Placed{Event: "e", At: storyStart, Revenue: 8000, HasRevenue: true, Currency: "USD"},
			Refunds: []conversion.Refund{{Event: "f", Amount: 2000, Currency: "USD"}}},
		Outcome: conversion.Outcome{Number: 1, Conversion: 1, Sides: [2]conversion.SideOutcome{{Reward: "r1"}, {Reason: conversion.ReasonNoOffer}}},
		Rewards: [2]*reward.Reward{&earned, nil},
	}
	require.Equal(t, `order 1042 of 2026-03-01T09:00:00Z: $80.00, $20.00 refunded
  ✓ the referrer earns $8.00, of which refunds took back $2.00; the reward r1 is available.
  ✗ the friend earns nothing. The program has no reward for this side.
`, orderText(order, storyStart))

	// The status is the word of the portal.
	earned, _ = earned.Reverse(800, 2)
	require.Contains(t, orderText(order, storyStart), "; the reward r1 is taken back.\n")

	order.Outcome = conversion.Outcome{Reason: conversion.ReasonCondition}
	order.Refunds, order.Detail = []conversion.Refund{{Event: "f", Whole: true}}, "revenue >= 50: revenue is 20"
	require.Equal(t, `order 1042 of 2026-03-01T09:00:00Z: $80.00, refunded in full
  ✗ A condition of the program does not hold. revenue >= 50: revenue is 20.
`, orderText(order, storyStart))

	order.Order, order.Outcome = conversion.Order{Key: "1043", Refunds: order.Refunds}, conversion.Outcome{}
	require.Equal(t, "order 1043: only refunds have come\n", orderText(order, storyStart))
}
