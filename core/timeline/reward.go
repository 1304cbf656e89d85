package timeline

import (
	"slices"
	"strings"

	"kith/core"
	"kith/core/conversion"
	"kith/core/referral"
	"kith/core/reward"
)

// worth returns an amount of a reward for people.
func worth(w reward.Reward, amount int64) string {
	return reward.Pretty(amount, w.Offer.Unit, w.Offer.Currency, reward.UnitFormatted)
}

func (c *collector) addRewards() {
	left := map[string]int64{}
	for _, e := range slices.Backward(c.Ledger) {
		left[e.Reward] += e.Amount
		i := slices.IndexFunc(c.Rewards, func(w reward.Reward) bool { return w.ID == e.Reward })
		if i >= 0 {
			c.addEntry(c.Rewards[i], e, left[e.Reward])
		}
	}
	for _, w := range c.Rewards {
		if w.Status(c.Now) == reward.StatusPending && !w.OnHold() {
			c.add(Entry{At: w.Given, Kind: Rewarding, Tone: Waiting, Text: say(c.owner(w.Source) + " can use the reward of " + worth(w, w.Left()) + " from here on.")})
		}
	}
	for _, side := range c.Dues {
		c.add(Entry{At: c.Now, Kind: Rewarding, Tone: Waiting, Text: say(c.owner(side.Source()) + " waits for a code of the fuel tank."), Why: say(tankEmpty)})
	}
}

const tankEmpty = "The fuel tank is empty. Upload codes to it; the reward is then given by itself."

// addEntry adds an entry of the ledger of a reward, of which an amount was left then.
func (c *collector) addEntry(w reward.Reward, l reward.Entry, left int64) {
	e := Entry{At: l.At, Kind: Rewarding}
	if w.Offer.Kind == reward.PercentDiscount {
		e.Kind = Discount
	}
	who, amount := c.owner(w.Source), worth(w, max(l.Amount, -l.Amount))
	switch l.Action {
	case reward.ActionGrant:
		e.Tone, e.Text = Good, say(who+" earned "+amount+order(w)+".")
		if w.Scheduled > w.Created {
			e.Why = say("It is due on ", w.Scheduled, ", so that a refund before then takes it back.")
		} else if w.Blocked == w.Created {
			e.Why = say(who + " was blocked.")
		} else if c.heldAtFirst(w) {
			e.Why = say("It was held at first.")
		}
	case reward.ActionHold:
		if l.At == w.Created {
			return // the grant says it
		}
		e.Tone, e.Text = Waiting, say("The reward of "+who+" was held.")
		if w.Blocked != 0 && l.At+1 >= w.Blocked {
			e.Why = say(who + " was blocked.")
		}
	case reward.ActionRelease:
		if c.Cut {
			left = w.Offer.Value()
		}
		if e.Tone, e.Text = Good, say(who+" can use the reward of "+worth(w, left)+"."); left <= 0 {
			e.Tone, e.Text = "", say("The reward of "+who+" is no longer held; nothing of it was left.")
		}
	case reward.ActionRedeem:
		e.Text = say(who + " used " + amount + " of the reward.")
	case reward.ActionExpire:
		e.Tone, e.Text = Bad, say(amount+" of the reward of "+who+" expired unused.")
	case reward.ActionCancel:
		e.Tone, e.Text = Bad, say("The reward of "+who+" was cancelled: "+amount+".")
		if e.Why, e.By = c.cancelled(w); w.Blocked != 0 && !w.Denied && l.At != w.Cancelled {
			e.Why = nil // it was cancelled and given again before
		}
	case reward.ActionRestore:
		e.Tone, e.Text = Good, say("The reward of "+who+" was given again: "+amount+".")
	case reward.ActionReverse:
		e.Kind, e.Tone, e.Text = Refund, Bad, say("A refund took back "+amount+" of the reward of "+who+".")
		if l.Amount > 0 {
			e.Tone, e.Text = Good, say("A correction of a refund gave "+amount+" back to "+who+".")
		}
	case reward.ActionAdjust:
		e.Text = say("The reward of " + who + " changed by " + worth(w, l.Amount) + ".")
		e.Why = say("Its order was decided again, because an earlier event arrived late or was corrected.")
	case reward.ActionSettle:
		e.Kind, e.Text = Refund, say(amount+" of the reward of "+who+" settled a debt.")
		e.Why = say("A refund had taken back credit that was used already.")
	default:
		return
	}
	c.add(e)
}

// heldAtFirst reports whether a reward without a date was pending when it was earned.
func (f Facts) heldAtFirst(w reward.Reward) bool {
	return slices.ContainsFunc(f.Ledger, func(l reward.Entry) bool {
		return l.Reward == w.ID && l.Action == reward.ActionHold && l.At == w.Created
	})
}

// order returns the words that name the order of a reward, or "".
func order(w reward.Reward) string {
	if w.Order == "" {
		return ""
	}
	return " for the order " + w.Order
}

// cancelled returns why a reward was cancelled, and who did it.
func (f Facts) cancelled(w reward.Reward) (why Sentence, by string) {
	for _, a := range f.Acts {
		if a.Reward == w.ID {
			return say(a.Reason), a.By
		}
	}
	switch {
	case w.Denied:
		return say("The referral was denied."), ""
	case w.Blocked != 0 && w.Cancelled != 0:
		return say("The user was blocked."), ""
	}
	return nil, ""
}

func (c *collector) addModeration() {
	m := c.Referral.Moderation
	if len(m.Signals) > 0 {
		at := m.Moderated
		// A person, a chargeback or a block, which denies one side, has replaced the time.
		if m.ByHand != 0 || m.Refused != "" || m.Referrer.Status != m.Referred.Status {
			at = c.Referral.Started
		}
		c.add(Entry{At: at, Kind: Moderation, Tone: Bad, Text: say("Signs of fraud were found."), Why: say(signals(m.Signals))})
	}
	if m.Refused != "" {
		c.add(Entry{At: m.Moderated, Kind: Moderation, Tone: Bad, Text: say("The rewards are taken back, except those that a moderator has approved: " + m.Refused.Explain() + ".")})
	}
	known := false
	for _, a := range c.Acts {
		known = known || a.At == m.ByHand
		if a.Reward == "" {
			c.add(Entry{At: a.At, Kind: Moderation, Text: say(c.decided(a)), Why: say(a.Reason), By: a.By})
		}
	}
	if m.ByHand != 0 && !known {
		c.add(Entry{At: m.ByHand, Kind: Moderation, Text: say("The referral was moderated by a call of the API.")})
	}
}

// decided returns what a person decided about the referral.
func (f Facts) decided(a Act) string {
	switch a.Decision {
	case referral.ApproveReferrer:
		return "The reward of " + f.Referrer() + " was approved."
	case referral.ApproveReferred:
		return "The reward of " + f.Referred() + " was approved."
	case referral.DenyReferrer:
		return "The reward of " + f.Referrer() + " was denied."
	case referral.DenyReferred:
		return "The reward of " + f.Referred() + " was denied."
	}
	if a.Denied {
		return "The referral was denied: neither side gets a reward."
	}
	return "The referral was approved: both sides get their rewards."
}

// signals returns fraud signals as sentences.
func signals(found []referral.Finding) string {
	texts := make([]string, len(found))
	for i, s := range found {
		texts[i] = s.Message + "."
	}
	return strings.Join(texts, " ")
}

// sideStatus returns the moderation of the side of a source.
func (f Facts) sideStatus(source reward.Source) referral.Side {
	if source == reward.FriendSignup {
		return f.Referral.Moderation.Referrer
	}
	return f.Referral.Moderation.Referred
}

// sideOf returns the side of a source in the decision of an order.
func sideOf(source reward.Source) conversion.Side {
	if source == reward.FriendSignup {
		return conversion.Referrer
	}
	return conversion.Referred
}

// due is when a pending reward can be used.
func due(w reward.Reward) core.Time { return max(w.Given, w.Scheduled) }
