package wire

import "kith/core/reward"

// offer writes what a code or a program gives; null when it gives nothing.
func (w *writer) offer(name string, o reward.Offer) {
	if o.None() {
		w.raw(name, "null")
		return
	}
	w.object(name, func() { w.offerMembers(o) })
}

func (w *writer) offerMembers(o reward.Offer) {
	w.text("type", string(o.Kind))
	w.text("unit", o.Unit())
	switch o.Kind {
	case reward.PercentDiscount:
		w.raw("discountPercent", o.Percent.String())
	case reward.Credit:
		w.number("credit", o.Amount)
		w.text("currency", o.Currency)
	}
}

// reward writes a reward; null when there is none.
func (w *writer) reward(name string, r *reward.Reward) {
	if r == nil {
		w.raw(name, "null")
		return
	}
	w.key(name)
	w.b = appendReward(w.b, *r)
	w.comma = true
}

func appendReward(b []byte, r reward.Reward) []byte {
	w := writer{b: b}
	w.open()
	w.text("id", r.ID)
	w.text("type", string(r.Offer.Kind))
	w.text("accountId", string(r.Account))
	w.text("userId", string(r.User))
	w.text("programId", string(r.Program))
	w.text("rewardSource", string(r.Source))
	w.text("unit", r.Offer.Unit())
	switch r.Offer.Kind {
	case reward.PercentDiscount:
		w.raw("discountPercent", r.Offer.Percent.String())
	case reward.Credit:
		w.number("assignedCredit", r.Offer.Amount)
		w.number("redeemedCredit", r.Redeemed)
		w.text("currency", r.Offer.Currency)
	}
	w.boolean("cancellable", r.Cancelled == 0)
	w.date("dateCreated", r.Created)
	w.date("dateGiven", r.Created)
	w.raw("dateScheduledFor", "null")
	w.raw("dateExpires", "null")
	w.date("dateCancelled", r.Cancelled)
	w.close()
	return w.b
}

// Rewards writes GET /reward: a bare array (reference, 1.3).
func Rewards(rewards []reward.Reward) []byte {
	return list(nil, len(rewards), func(b []byte, i int) []byte { return appendReward(b, rewards[i]) })
}
