package timeline

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"kith/core/conversion"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/state"
)

// Answer answers why one side has its reward, or has none.
type Answer struct {
	Side referral.SideKey
	// Tone is Good if the side has a reward that can be used or was used.
	Tone Tone
	Text Sentence
}

// Answers returns the answers for both sides, the referrer first.
func Answers(f Facts) [2]Answer {
	return [2]Answer{f.answer(referral.ReferrerSide), f.answer(referral.ReferredSide)}
}

func (f Facts) answer(side referral.SideKey) Answer {
	source, who := side.Source(), f.owner(side.Source())
	var own []reward.Reward
	for _, w := range f.Rewards {
		if w.Source == source {
			own = append(own, w)
		}
	}
	slices.SortFunc(own, func(a, b reward.Reward) int {
		return cmp.Or(cmp.Compare(a.Created, b.Created), strings.Compare(a.ID, b.ID))
	})
	a := Answer{Side: side}
	switch len(own) {
	case 0:
		a.Tone, a.Text = f.without(side, who)
	case 1:
		a.Tone, a.Text = f.one(own[0], who)
	default:
		a.Tone, a.Text = f.several(own, who)
	}
	a.Text = capital(a.Text)
	return a
}

// capital returns a sentence that may begin with "the account" with a capital letter. Names,
// addresses and ids stay as they are.
func capital(s Sentence) Sentence {
	if len(s) > 0 {
		if rest, ok := strings.CutPrefix(s[0].Text, "the account "); ok {
			s[0].Text = "The account " + rest
		}
	}
	return s
}

// one answers for a side with one reward.
func (f Facts) one(w reward.Reward, who string) (Tone, Sentence) {
	value := worth(w, w.Net())
	switch w.Status(f.Now) {
	case reward.StatusAvailable:
		if w.Left() < w.Net() {
			return Good, say(who+" got "+value+" on ", w.Given, ", of which "+worth(w, w.Left())+" is left.", TakenBack(w))
		}
		text := say(who+" got "+value+order(w)+" on ", w.Given, " and has not used it yet")
		if w.Expires != 0 {
			return Good, say(text, "; it expires on ", w.Expires, ".", TakenBack(w))
		}
		return Good, say(text, ".", TakenBack(w))
	case reward.StatusRedeemed:
		text := who + " got " + value + " on "
		if debt := w.Debt(); debt > 0 {
			text = who + " got " + worth(w, w.Offer.Value()) + " on "
			return Bad, say(text, w.Given, ", used it, and owes "+worth(w, debt)+", because the order was refunded later.")
		}
		return Good, say(text, w.Given, " and has used all of it.", TakenBack(w))
	case reward.StatusExpired:
		return Bad, say(who+" got "+value+", but it expired on ", w.Expires, ".")
	case reward.StatusPending:
		if w.OnHold() {
			return Waiting, say(who + " gets no reward yet: " + worth(w, w.Left()) + " is held until " + f.until(w.Blocked != 0, w.Held, who))
		}
		if w.Order != "" {
			return Waiting, say(who+" gets no reward yet: "+value+" for the order "+w.Order+f.priceOf(w.Order)+" is due on ", due(w), ".", TakenBack(w), " A refund before then takes it back.")
		}
		return Waiting, say(who+" gets no reward yet: "+value+" is due on ", due(w), ".", TakenBack(w))
	}
	return f.gone(w, who, worth(w, w.Offer.Value()))
}

// TakenBack returns what refunds took back of a reward as a further sentence, or none.
func TakenBack(w reward.Reward) Sentence {
	if w.Sums.Reversed == 0 {
		return nil
	}
	return say(" A refund took back "+worth(w, w.Sums.Reversed), " of "+worth(w, w.Offer.Value())+".")
}

// until returns what a held reward waits for, as the end of a sentence.
func (f Facts) until(blocked, moderated bool, who string) string {
	switch {
	case blocked && moderated:
		return who + " is unblocked and the referral is approved." + f.because()
	case blocked:
		return who + " is unblocked."
	}
	return "the referral is approved or denied." + f.because()
}

// because returns the fraud signals as further sentences, or "".
func (f Facts) because() string {
	if len(f.Referral.Moderation.Signals) == 0 {
		return ""
	}
	return " Signs of fraud: " + signals(f.Referral.Moderation.Signals)
}

// gone answers for a side whose reward is cancelled.
func (f Facts) gone(w reward.Reward, who, value string) (Tone, Sentence) {
	if w.Cancelled != 0 && w.Sums.Cancelled > 0 {
		value = worth(w, w.Sums.Cancelled)
	}
	lost := lostBy(w, who)
	if w.Denied {
		return Bad, say(lost, value+" was cancelled, because the referral was denied", f.denied(w.Source), ".")
	}
	if w.Blocked != 0 {
		return Bad, say(lost, value+" was cancelled on ", w.Cancelled, ", because "+who+" was blocked.")
	}
	if w.Cancelled == 0 {
		if w.Sums.Reversed > 0 || w.Offer.Value() > 0 {
			return Bad, say(who + " gets no reward: the order " + w.Order + f.priceOf(w.Order) + " was refunded, which took back " + value + ".")
		}
		return Bad, say(who + " gets no reward: the order " + w.Order + f.priceOf(w.Order) + " does not earn one any more." + f.orderSide(w))
	}
	why, by := f.cancelled(w)
	text := say(lost, value+" was cancelled on ", w.Cancelled)
	if by != "" {
		text = say(text, " by "+by)
	}
	if len(why) > 0 {
		return Bad, say(text, ", with the reason: "+strings.TrimSuffix(why.String(), ".")+".")
	}
	return Bad, say(text, ".")
}

// lostBy begins a sentence about a cancelled reward of a user.
func lostBy(w reward.Reward, who string) Sentence {
	if w.Sums.Redeemed == 0 {
		return say(who + " gets no reward: ")
	}
	used := say(who+" has used ", worth(w, w.Sums.Redeemed))
	if w.Debt() > 0 {
		used = say(used, ", owes ", worth(w, w.Debt()), " since the refund of the order")
	}
	return say(used, ", and gets no more: ")
}

// orderSide returns why the order of a reward does not earn it any more.
func (f Facts) orderSide(w reward.Reward) string {
	for _, o := range f.Orders {
		if o.Order.Key != w.Order {
			continue
		}
		if o.Number == 0 {
			return " " + orderReason(cmp.Or(o.Reason, o.Refused), o.Detail)
		}
		if reason := o.Sides[sideOf(w.Source)].Reason; reason != "" {
			return " " + reason.Sentence()
		}
	}
	return ""
}

// priceOf returns the revenue of an order with " of" in front, or "".
func (f Facts) priceOf(key string) string {
	for _, o := range f.Orders {
		if o.Order.Key == key {
			return price(o)
		}
	}
	return ""
}

// denied returns when, by whom and why a side was denied.
func (f Facts) denied(source reward.Source) Sentence {
	if !f.sideStatus(source).ByHand {
		switch m := f.Referral.Moderation; {
		case m.Refused != "":
			return say(" on ", m.Moderated, ": "+m.Refused.Explain())
		case len(m.Signals) > 0:
			return say(" by the handling of fraud: " + strings.TrimSuffix(signals(f.Referral.Moderation.Signals), "."))
		}
		return nil
	}
	for _, a := range f.Acts {
		if a.At == f.Referral.Moderation.ByHand && a.Reward == "" {
			text := say(" on ", a.At, " by "+a.By)
			if a.Reason != "" {
				text = say(text, ", with the reason: "+strings.TrimSuffix(a.Reason, "."))
			}
			return text
		}
	}
	return say(" on ", f.Referral.Moderation.ByHand)
}

// several answers for a side with a reward for each of several orders.
func (f Facts) several(own []reward.Reward, who string) (Tone, Sentence) {
	count := map[reward.Status]int{}
	var next reward.Reward
	held, blocked := false, false
	for _, w := range own {
		status := w.Status(f.Now)
		count[status]++
		if status == reward.StatusPending {
			held, blocked = held || w.Held, blocked || w.Blocked != 0
			if !w.OnHold() && (next.ID == "" || due(w) < due(next)) {
				next = w
			}
		}
	}
	text := who + " has " + strconv.Itoa(len(own)) + " rewards of this referral: "
	var parts []string
	for _, s := range []struct {
		status reward.Status
		name   string
	}{
		{reward.StatusAvailable, "available"}, {reward.StatusRedeemed, "used"}, {reward.StatusPending, "pending"},
		{reward.StatusExpired, "expired"}, {reward.StatusCancelled, "cancelled or taken back"},
	} {
		if n := count[s.status]; n > 0 {
			parts = append(parts, strconv.Itoa(n)+" "+s.name)
		}
	}
	tone := Bad
	switch {
	case count[reward.StatusAvailable]+count[reward.StatusRedeemed] > 0:
		tone = Good
	case count[reward.StatusPending] > 0:
		tone = Waiting
	}
	all := say(text + strings.Join(parts, ", ") + ".")
	if next.ID != "" {
		all = say(all, " The next one is due on ", due(next), ".")
	}
	if held || blocked {
		all = say(all, " Held ones wait until "+f.until(blocked, held, who))
	}
	return tone, all
}

// without answers for a side without a reward.
func (f Facts) without(side referral.SideKey, who string) (Tone, Sentence) {
	r := f.Referral
	none := who + " gets no reward: "
	yet := who + " gets no reward yet: "
	switch {
	case slices.Contains(f.Dues, side):
		return Waiting, say(yet + "the fuel tank of the program is empty. Upload codes to it; the reward is then given by itself.")
	case f.sideStatus(side.Source()).Status == referral.SideDenied:
		return Bad, say(none+"the referral was denied", f.denied(side.Source()), ".")
	case r.State != referral.Converted:
		return Waiting, say(yet, f.unconverted())
	}
	for _, o := range f.Orders {
		reason := o.Sides[sideOf(side.Source())].Reason
		if o.Number > 0 && (reason == conversion.ReasonDenied || reason == "" && (side == referral.ReferrerSide || r.Referred.User != "")) {
			return Waiting, say(yet + "the order " + o.Order.Key + price(o) + " is being decided again.")
		}
		if o.Number > 0 && reason != "" {
			return Bad, say(none + "the order " + o.Order.Key + price(o) + " earns none. " + reason.Sentence())
		}
	}
	if f.Program.Offer(side).None() {
		return Bad, say(none + "the program " + string(r.Program) + " has no reward for this side.")
	}
	if side == referral.ReferrerSide && (f.Program.Limits.Total > 0 || f.Program.Limits.InPeriod > 0) {
		return Bad, say(none + "when the referral converted, " + who + " had as many rewards as the program allows, or the program had no reward for this side.")
	}
	return Bad, say(none + "when the referral converted, the program had no reward for this side.")
}

// unconverted returns what is missing for the conversion, after a colon.
func (f Facts) unconverted() Sentence {
	friend := f.Referred()
	if rule := f.Program.Conversion; rule.ByEvent() {
		// The orders are in no order.
		var last *state.Order
		for i := range f.Orders {
			if o := &f.Orders[i]; o.Event != "" && (last == nil || o.At > last.At) {
				last = o
			}
		}
		switch {
		case f.Referral.Referred.User == "":
			return say("no user of " + friend + " has been identified, and no order of it has arrived.")
		case last == nil:
			return say("no event " + rule.Event + " of " + friend + " has arrived, which converts the referral.")
		case last.Number > 0:
			return say("the order " + last.Order.Key + price(*last) + " counts, and is being processed.")
		case last.Reason == "" && last.Refused == "":
			return say("the order " + last.Order.Key + price(*last) + " has not been decided yet.")
		}
		return say("the order " + last.Order.Key + price(*last) + " does not count. " + orderReason(cmp.Or(last.Reason, last.Refused), last.Detail))
	}
	switch {
	case f.Account.Standing.FirstPaid == 0 && f.Account.Status == referral.Cancelled:
		return say("the account " + string(f.Account.ID) + " was cancelled before it became PAID.")
	case f.Account.Unconfirmed():
		return say("a web page reported without a signature that the account " + string(f.Account.ID) + " is PAID, which does not count. The referral converts when a server, a signed token or the payment gateway reports it.")
	case f.Account.Standing.FirstPaid == 0:
		return say("the account " + string(f.Account.ID) + " is " + string(cmp.Or(f.Account.Status, referral.Trial)) + ", and the referral converts when it becomes PAID.")
	case f.Referral.Referred.User == "":
		return say("the account " + string(f.Account.ID) + " is PAID, but no user of it has been identified.")
	}
	return say("the referral has not converted.")
}

// Summary returns what became of the referral in one sentence.
func Summary(f Facts) Sentence {
	r := f.Referral
	s := say(f.Referrer()+" referred "+f.Referred()+" on ", r.Started, " with the code "+string(r.Code))
	switch {
	case r.Converted != 0:
		s = say(s, ", and the referral converted on ", r.Converted)
	case r.Ended == 0:
		s = say(s, ". The referral is open")
	}
	if r.Ended != 0 {
		s = say(s, ". The account was cancelled on ", r.Ended)
		if f.Account.Status == referral.Paid {
			s = say(s, ", and is PAID again")
		}
	}
	return capital(say(s, "."))
}
