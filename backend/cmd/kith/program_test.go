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

func TestProgram_Try(t *testing.T) {
	kith := shop(t)
	_, errOut := kith("set classic", "conversion.event=purchase", "conversion.conditions[]=plan in (pro, team)",
		`rewards.referrer={"type":"CREDIT","percentOfRevenue":10,"tiers":[{"from":5,"percentOfRevenue":15}]}`)
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
