package timeline

import (
	"slices"
	"strings"
	"testing"

	"kith/core"
	"kith/core/conversion"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/state"
	"kith/core/webhook"
	"kith/core/wire"
)

// now is 2026-03-01 09:00 UTC.
const now core.Time = 1772355600000

// facts returns the facts of a referral of Ben by Anna, changed by change.
func facts(change func(*Facts)) Facts {
	f := Facts{
		Now: now,
		Referral: referral.Referral{
			ID: "r", Program: "classic", State: referral.InProgress, Code: "ANNA10", Started: now - 10*core.Day,
			Referrer: referral.Identity{Account: "a", User: "anna"}, ReferrerProfile: referral.Profile{FirstName: "Anna"},
			Referred: referral.Identity{Account: "b", User: "ben", Email: "ben@friend.example"},
		},
		Account: referral.Account{ID: "b", Status: referral.Trial},
		Program: referral.DefaultProgram("https://a.example/"),
	}
	if change != nil {
		change(&f)
	}
	return f
}

func converted(f *Facts) {
	f.Referral.State, f.Referral.Converted = referral.Converted, now-core.Day
	f.Account.Status, f.Account.Standing.FirstPaid = referral.Paid, now-core.Day
}

// give adds a reward of 10 USD to the referrer, changed by change.
func give(change func(*reward.Reward)) func(*Facts) {
	return func(f *Facts) {
		converted(f)
		w := reward.Reward{
			ID: "w", Source: reward.FriendSignup, Created: now - core.Day, Given: now - core.Day, Cancellable: true,
			Offer: reward.Offer{Kind: reward.Credit, Amount: 1000, Unit: reward.UnitCents, Currency: "USD"},
		}
		if change != nil {
			change(&w)
		}
		f.Rewards = append(f.Rewards, w)
	}
}

func byEvent(orders ...state.Order) func(*Facts) {
	return func(f *Facts) {
		f.Program.Conversion = conversion.Rule{Event: "purchase", Reversal: "refund"}
		f.Orders = orders
	}
}

func placed(key string, cents int64, outcome conversion.Outcome) state.Order {
	return state.Order{
		Order:   conversion.Order{Referral: "r", Key: key, Placed: conversion.Placed{Event: "e", At: now - 2*core.Day, Revenue: cents, HasRevenue: true, Currency: "USD"}},
		Outcome: outcome,
	}
}

func all(changes ...func(*Facts)) func(*Facts) {
	return func(f *Facts) {
		for _, change := range changes {
			change(f)
		}
	}
}

// Why a side has its reward, or has none, in each situation.
func TestAnswers(t *testing.T) {
	fraud := func(f *Facts) {
		f.Referral.Moderation.Signals = []referral.Finding{{Signal: referral.SignalIP, Message: "Referrer and referred came from the same IP", Score: 50}}
	}
	denied := func(f *Facts) {
		f.Referral.Moderation.Referrer = referral.Side{Status: referral.SideDenied, ByHand: true}
		f.Referral.Moderation.ByHand = now - core.Hour
		f.Acts = []Act{{At: now - core.Hour, By: "owner@acme.example", Decision: referral.Deny, Denied: true, Reason: "Same household."}}
	}
	for name, c := range map[string]struct {
		change func(*Facts)
		tone   Tone
		wants  string
	}{
		"trial":     {nil, Waiting, "Anna gets no reward yet: the account b is TRIAL, and the referral converts when it becomes PAID."},
		"cancelled": {func(f *Facts) { f.Account.Status = referral.Cancelled }, Waiting, "Anna gets no reward yet: the account b was cancelled before it became PAID."},
		"paid without a user": {func(f *Facts) {
			f.Account.Standing.FirstPaid = now
			f.Referral.Referred = referral.Identity{Account: "b"}
		}, Waiting, "Anna gets no reward yet: the account b is PAID, but no user of it has been identified."},
		"no event":  {byEvent(), Waiting, "Anna gets no reward yet: no event purchase of ben@friend.example has arrived, which converts the referral."},
		"undecided": {byEvent(placed("7", 8000, conversion.Outcome{})), Waiting, "Anna gets no reward yet: the order 7 of $80.00 has not been decided yet."},
		"refused": {byEvent(placed("7", 8000, conversion.Outcome{Reason: conversion.ReasonTooLate})), Waiting,
			"Anna gets no reward yet: the order 7 of $80.00 does not count. The order was placed later after the attribution than the program allows."},
		"order earns none": {all(converted, byEvent(placed("7", 8000, conversion.Outcome{Number: 1, Sides: [2]conversion.SideOutcome{{Reason: conversion.ReasonTotal}, {}}}))), Bad,
			"Anna gets no reward: the order 7 of $80.00 earns none. The referrer has as many rewards as the program allows."},
		"no offer":      {all(converted, func(f *Facts) { f.Program.Referrer = reward.Offer{} }), Bad, "Anna gets no reward: the program classic has no reward for this side."},
		"no offer then": {converted, Bad, "Anna gets no reward: when the referral converted, the program had no reward for this side."},
		"limit": {all(converted, func(f *Facts) { f.Program.Limits.Total = 1 }), Bad,
			"Anna gets no reward: when the referral converted, Anna had as many rewards as the program allows, or the program had no reward for this side."},
		"empty tank": {all(converted, func(f *Facts) { f.Dues = []referral.SideKey{referral.ReferrerSide} }), Waiting,
			"Anna gets no reward yet: the fuel tank of the program is empty. Upload codes to it; the reward is then given by itself."},
		"denied without a reward": {denied, Bad, "Anna gets no reward: the referral was denied on 2026-03-01 08:00 UTC by owner@acme.example, with the reason: Same household."},
		"denied by a rule": {all(fraud, func(f *Facts) { f.Referral.Moderation.Referrer.Status = referral.SideDenied }), Bad,
			"Anna gets no reward: the referral was denied by the handling of fraud: Referrer and referred came from the same IP."},
		"available":    {give(nil), Good, "Anna got $10.00 on 2026-02-28 09:00 UTC and has not used it yet."},
		"expiring":     {give(func(w *reward.Reward) { w.Expires = now + core.Day }), Good, "Anna got $10.00 on 2026-02-28 09:00 UTC and has not used it yet; it expires on 2026-03-02 09:00 UTC."},
		"used in part": {give(func(w *reward.Reward) { w.Sums.Redeemed = 250 }), Good, "Anna got $10.00 on 2026-02-28 09:00 UTC, of which $7.50 is left."},
		"used":         {give(func(w *reward.Reward) { w.Sums.Redeemed = 1000 }), Good, "Anna got $10.00 on 2026-02-28 09:00 UTC and has used all of it."},
		"refunded in part": {give(func(w *reward.Reward) { w.Sums.Reversed = 400 }), Good,
			"Anna got $6.00 on 2026-02-28 09:00 UTC and has not used it yet. A refund took back $4.00 of $10.00."},
		"refunded in part and used": {give(func(w *reward.Reward) { w.Sums.Redeemed, w.Sums.Reversed = 250, 400 }), Good,
			"Anna got $6.00 on 2026-02-28 09:00 UTC, of which $3.50 is left. A refund took back $4.00 of $10.00."},
		"refunded in part while due": {give(func(w *reward.Reward) { w.Pending, w.Given, w.Sums.Reversed = true, now+core.Day, 400 }), Waiting,
			"Anna gets no reward yet: $6.00 is due on 2026-03-02 09:00 UTC. A refund took back $4.00 of $10.00."},
		"denied after a refund": {give(func(w *reward.Reward) { w.Denied, w.Cancelled, w.Sums.Cancelled, w.Sums.Reversed = true, now, 600, 400 }), Bad,
			"Anna gets no reward: $6.00 was cancelled, because the referral was denied."},
		"denied after a part was used": {give(func(w *reward.Reward) { w.Denied, w.Cancelled, w.Sums.Redeemed, w.Sums.Cancelled = true, now, 300, 700 }), Bad,
			"Anna has used $3.00, and gets no more: $7.00 was cancelled, because the referral was denied."},
		"debt": {give(func(w *reward.Reward) { w.Order, w.Sums.Redeemed, w.Sums.Reversed, w.Refunded = "7", 1000, 400, 400 }), Bad,
			"Anna got $10.00 on 2026-02-28 09:00 UTC, used it, and owes $4.00, because the order was refunded later."},
		"expired": {give(func(w *reward.Reward) { w.Expires = now - core.Hour }), Bad, "Anna got $10.00, but it expired on 2026-03-01 08:00 UTC."},
		"held":    {all(fraud, give(func(w *reward.Reward) { w.Held = true })), Waiting, "Anna gets no reward yet: $10.00 is held until the referral is approved or denied. Signs of fraud: Referrer and referred came from the same IP."},
		"due": {give(func(w *reward.Reward) { w.Given, w.Scheduled = now+core.Day, now+core.Day }), Waiting,
			"Anna gets no reward yet: $10.00 is due on 2026-03-02 09:00 UTC."},
		"due for an order": {all(byEvent(placed("7", 8000, conversion.Outcome{Number: 1})), give(func(w *reward.Reward) { w.Order, w.Given, w.Scheduled = "7", now+core.Day, now+core.Day })), Waiting,
			"Anna gets no reward yet: $10.00 for the order 7 of $80.00 is due on 2026-03-02 09:00 UTC. A refund before then takes it back."},
		"refunded": {all(byEvent(placed("7", 8000, conversion.Outcome{Number: 1})), give(func(w *reward.Reward) { w.Order, w.Sums.Reversed, w.Refunded = "7", 1000, 1000 })), Bad,
			"Anna gets no reward: the order 7 of $80.00 was refunded, which took back $10.00."},
		"does not earn any more": {all(byEvent(placed("7", 8000, conversion.Outcome{Reason: conversion.ReasonNotFirst})), give(func(w *reward.Reward) { w.Order, w.Offer.Amount = "7", 0 })), Bad,
			"Anna gets no reward: the order 7 of $80.00 does not earn one any more. The account had such an event before, and only the first one converts."},
		"denied later": {all(denied, give(func(w *reward.Reward) { w.Denied, w.Cancelled, w.Sums.Cancelled = true, now, 1000 })), Bad,
			"Anna gets no reward: $10.00 was cancelled, because the referral was denied on 2026-03-01 08:00 UTC by owner@acme.example, with the reason: Same household."},
		"cancelled by the API": {give(func(w *reward.Reward) { w.Cancelled, w.Sums.Cancelled = now, 1000 }), Bad, "Anna gets no reward: $10.00 was cancelled on 2026-03-01 09:00 UTC."},
		"cancelled by hand": {all(give(func(w *reward.Reward) { w.Cancelled, w.Sums.Cancelled = now, 1000 }), func(f *Facts) {
			f.Acts = []Act{{At: now, By: "owner@acme.example", Reason: "Paid in cash.", Reward: "w"}}
		}), Bad, "Anna gets no reward: $10.00 was cancelled on 2026-03-01 09:00 UTC by owner@acme.example, with the reason: Paid in cash."},
		"several": {all(give(nil), give(func(w *reward.Reward) { w.ID, w.Given, w.Scheduled = "w2", now+core.Day, now+core.Day })), Good,
			"Anna has 2 rewards of this referral: 1 available, 1 pending. The next one is due on 2026-03-02 09:00 UTC."},
	} {
		got := Answers(facts(c.change))[0]
		if got.Text.String() != c.wants || got.Tone != c.tone {
			t.Errorf("%s:\n got %s: %s\nwant %s: %s", name, got.Tone, got.Text, c.tone, c.wants)
		}
	}
	got := Answers(facts(func(f *Facts) {
		converted(f)
		f.Rewards = []reward.Reward{{ID: "w", Source: reward.Referred, Given: now, Offer: reward.Offer{Kind: reward.PercentDiscount, Percent: 1000, Unit: "%"}}}
	}))[1]
	if want := "ben@friend.example got 10% on 2026-03-01 09:00 UTC and has not used it yet."; got.Text.String() != want || got.Side != referral.ReferredSide {
		t.Errorf("%s, want %s", got.Text, want)
	}
}

// A whole referral, with everything that can happen, in the order in which it happened.
func TestOf(t *testing.T) {
	at := func(hours core.Time) core.Time { return now - 100*core.Hour + hours*core.Hour }
	f := facts(all(byEvent(placed("7", 8000, conversion.Outcome{Number: 1, Sides: [2]conversion.SideOutcome{{Reward: "w"}, {Reason: conversion.ReasonNoOffer}}})), give(nil), func(f *Facts) {
		f.Orders[0].At = at(3)
		f.Orders[0].Refunds = []conversion.Refund{{Event: "x", Amount: 2000, Currency: "USD"}}
		f.Orders = append(f.Orders, state.Order{Order: conversion.Order{Key: "8"}})
		f.Account.Standing.FirstPaid = at(2)
		f.Referral.Started, f.Referral.Converted, f.Referral.Ended = at(0), at(3), at(20)
		f.Referral.ShareLink, f.Referral.ShareMedium = "https://a.example/s/ANNA10", "FACEBOOK"
		f.Identified = at(1)
		f.Decisions = []wire.Decision{
			{Code: "ANNA10", Source: referral.SourceCookie, Rule: referral.RuleFirstCode, Accepted: true, Times: 1, First: at(0)},
			{Code: "CARL", Source: referral.SourceApplied, Rule: referral.RuleAlreadyReferred, Times: 2, First: at(4), Last: at(5)},
			{Source: referral.SourceCookie, Rule: referral.RuleCookieForged, Times: 1, First: at(-1)},
		}
		f.Rewards[0].Order, f.Rewards[0].Created, f.Rewards[0].Scheduled, f.Rewards[0].Given = "7", at(4), at(130), at(130)
		for i, e := range []reward.Entry{
			{Action: reward.ActionGrant, Amount: 1000}, {Action: reward.ActionHold}, {Action: reward.ActionHold}, {Action: reward.ActionRelease}, {Action: reward.ActionRedeem, Amount: -100},
			{Action: reward.ActionReverse, Amount: -250}, {Action: reward.ActionReverse, Amount: 50}, {Action: reward.ActionAdjust, Amount: -200}, {Action: reward.ActionSettle, Amount: -10},
			{Action: reward.ActionExpire, Amount: -5}, {Action: reward.ActionCancel, Amount: -400}, {Action: reward.ActionRestore, Amount: 400},
		} {
			e.Reward, e.At = "w", at(max(4, core.Time(3+i)))
			f.Ledger = append(f.Ledger, e)
		}
		f.Ledger = append(f.Ledger, reward.Entry{Reward: "unknown", Action: reward.ActionGrant})
		slices.Reverse(f.Ledger)
		f.Acts = []Act{
			{At: at(30), By: "owner@acme.example", Decision: referral.DenyReferrer, Denied: true, Reason: "Same household."},
			{At: at(13), By: "owner@acme.example", Reward: "w", Reason: "Paid in cash."},
		}
		f.Referral.Moderation = referral.ModerationState{ByHand: at(40), Moderated: at(40), Signals: []referral.Finding{{Message: "Referrer and referred have the same name"}}}
		f.Dues = []referral.SideKey{referral.ReferredSide}
		f.Deliveries = []webhook.Delivery{
			{DeliveryKey: webhook.DeliveryKey{Endpoint: "https://hook.example"}, Type: webhook.ReferralStarted, State: webhook.Delivered, Created: at(50)},
			{DeliveryKey: webhook.DeliveryKey{Endpoint: "https://hook.example"}, Type: webhook.RewardCreated, State: webhook.Failed, Created: at(51), Attempts: []webhook.Attempt{{Status: 500}}},
			{DeliveryKey: webhook.DeliveryKey{Endpoint: "https://hook.example"}, Type: webhook.ReferralEnded, State: webhook.Waiting, Created: at(52), Attempts: []webhook.Attempt{{Error: "no connection"}}},
		}
	}))
	var got []string
	last := core.Time(0)
	for _, e := range Of(f) {
		line := string(e.Kind) + " " + string(e.Tone) + ": " + e.Text.String()
		if why := e.Why.String(); why != "" {
			line += " | " + why
		}
		if e.By != "" {
			line += " | by " + e.By
		}
		if e.At < last {
			t.Errorf("%s is after a later entry", line)
		}
		last = e.At
		got = append(got, line)
	}
	want := []string{
		"visit : A share link of Anna was followed: https://a.example/s/ANNA10 (shared by facebook). | Visits are counted by day; when a single visitor came is not recorded.",
		"refund : A refund of the order 8 arrived, but not the order itself. | Nothing is taken back until the order arrives.",
		"attribution bad: A code from the cookie of a share link did not count. | The signature of the cookie or token was wrong.",
		"attribution good: Anna referred ben@friend.example with the code ANNA10 from the cookie of a share link. | It was the first valid code of the account, and the first code is final.",
		"moderation bad: Signs of fraud were found. | Referrer and referred have the same name.",
		"identification good: ben@friend.example was identified for the first time.",
		"payment : The account b became PAID for the first time. | The program converts by the event purchase, so this converts nothing.",
		"order good: The order 7 of $80.00 was placed. | It is order 1 of the referral that counts. ben@friend.example earns nothing for it. The program has no reward for this side. $20.00 of it was refunded.",
		"conversion good: The referral converted. | The order 7 is the first one that counts.",
		"attribution bad: The code CARL from a call that applied it did not count. | The account had already been referred by another code, and the first code is final. The same happened 2 times, last on 2026-02-25 10:00 UTC.",
		"reward good: Anna earned $10.00 for the order 7. | It is due on 2026-03-02 15:00 UTC, so that a refund before then takes it back.",
		"reward waiting: The reward of Anna was held.",
		"reward good: Anna can use the reward of $10.00.",
		"reward : Anna used $1.00 of the reward.",
		"refund bad: A refund took back $2.50 of the reward of Anna.",
		"refund good: A correction of a refund gave $0.50 back to Anna.",
		"reward : The reward of Anna changed by -$2.00. | Its order was decided again, because an earlier event arrived late or was corrected.",
		"refund : $0.10 of the reward of Anna settled a debt. | A refund had taken back credit that was used already.",
		"reward bad: $0.05 of the reward of Anna expired unused.",
		"reward bad: The reward of Anna was cancelled: $4.00. | Paid in cash. | by owner@acme.example",
		"reward good: The reward of Anna was given again: $4.00.",
		"end : The account b was cancelled, so the referral ended. | Rewards that were given stay.",
		"moderation : The reward of Anna was denied. | Same household. | by owner@acme.example",
		"moderation : The referral was moderated by a call of the API.",
		"webhook : The webhook referral.started for https://hook.example was delivered.",
		"webhook bad: The webhook reward.created for https://hook.example was not delivered. | Last attempt: the endpoint answered with the status 500.",
		"webhook waiting: The webhook referral.ended for https://hook.example waits for its next attempt. | Last attempt: no connection.",
		"reward waiting: ben@friend.example waits for a code of the fuel tank. | The fuel tank is empty. Upload codes to it; the reward is then given by itself.",
		"reward waiting: Anna can use the reward of $10.00 from here on.",
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("got\n%s\nwant\n%s", g, w)
	}
	if got, want := Summary(f).String(), "Anna referred ben@friend.example on 2026-02-25 05:00 UTC with the code ANNA10, and the referral converted on 2026-02-25 08:00 UTC. The account was cancelled on 2026-02-26 01:00 UTC, and is PAID again."; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A reward that was held from the beginning says so.
func TestOf_HeldReward(t *testing.T) {
	f := facts(give(func(w *reward.Reward) { w.Held = true }))
	f.Ledger = []reward.Entry{{Reward: "w", Action: reward.ActionHold, At: now - core.Day}, {Reward: "w", Action: reward.ActionGrant, Amount: 1000, At: now - core.Day}}
	entries := Of(f)
	if got, want := entries[len(entries)-1].Why.String(), "It was held at first."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A referral without a stored decision, such as an imported one, begins with its start.
func TestOf_WithoutDecisions(t *testing.T) {
	got := Of(facts(func(f *Facts) { f.Referral.Referred = referral.Identity{Account: "b"} }))
	if len(got) != 1 || got[0].Text.String() != "Anna referred the account b with the code ANNA10." || got[0].At != now-10*core.Day {
		t.Errorf("%+v", got)
	}
	if got, want := Summary(facts(nil)).String(), "Anna referred ben@friend.example on 2026-02-19 09:00 UTC with the code ANNA10. The referral is open."; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// The API has the same texts, with times in UTC.
func TestWire(t *testing.T) {
	got := string(Wire(facts(func(f *Facts) {
		f.Referral.Moderation.ByHand = now
		f.Acts = []Act{{At: now, By: "owner@acme.example", Reason: "Checked"}}
	})).JSON())
	want := `{"summary":"Anna referred ben@friend.example on 2026-02-19 09:00 UTC with the code ANNA10. The referral is open.",` +
		`"referrer":{"tone":"waiting","answer":"Anna gets no reward yet: the account b is TRIAL, and the referral converts when it becomes PAID."},` +
		`"referred":{"tone":"waiting","answer":"ben@friend.example gets no reward yet: the account b is TRIAL, and the referral converts when it becomes PAID."},"truncated":false,"entries":[` +
		`{"date":1771491600000,"kind":"attribution","tone":"good","text":"Anna referred ben@friend.example with the code ANNA10.","reason":"No decision about the code is stored: the referral was imported, or decisions were removed with a user.","modifiedBy":null},` +
		`{"date":1772355600000,"kind":"moderation","tone":null,"text":"The referral was approved: both sides get their rewards.","reason":"Checked","modifiedBy":"owner@acme.example"}]}`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
