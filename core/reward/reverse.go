package reward

import "kith/core"

// Reverse sets the amount that the refunds of its order take back from the reward, in
// total: 0 to its value, in its unit. An amount that has expired or was cancelled is
// not taken back again. If the amount was redeemed, a Credit becomes a debt; of another
// kind, only what is left is taken. Only a Credit can be divided: any other kind is taken
// back by a share of its whole value, so that a refund of a part of one bill does not change
// the discount of later ones.
func (r Reward) Reverse(share int64, now core.Time) (Reward, Entry) {
	r.Refunded = min(max(share, 0), r.Offer.Value())
	before := r.Sums.Reversed
	r.Sums.Reversed = r.reversal()
	return r, r.moved(ActionReverse, r.Sums.Reversed-before, now)
}

// reversal returns the amount that Refunded takes back.
func (r Reward) reversal() int64 {
	share, s := r.Refunded, r.Sums
	if !r.Offer.Divisible() && share < r.Offer.Value() {
		share = 0
	}
	unused := r.Offer.Value() - s.Redeemed - s.Settled
	if r.ended() {
		// Nothing may be left, and the owner owes what was used of the share.
		share = max(unused, share) - s.Expired - s.Cancelled
	}
	if r.Offer.Kind != Credit {
		share = min(share, unused-s.Expired-s.Cancelled)
	}
	return max(share, 0)
}

// ended reports whether the ledger has that the reward expired or was cancelled.
func (r Reward) ended() bool { return r.Sums.Expired > 0 || r.Cancelled != 0 }

// over reports whether the reward has expired or was cancelled, also if the ledger does not have
// it yet.
func (r Reward) over(now core.Time) bool {
	return r.Cancelled != 0 || r.expired(now)
}

// Adjust corrects the value of the reward, because its order earns another amount than
// was known, and the date on which it is to be given, which is ignored once it was
// given. It is CANCELLED while the value is 0. Of a reward that has expired or was
// cancelled, nothing is left afterwards either. The value of a kind other than Credit
// is at least what was redeemed. The caller then calls Reverse with the share of the
// new value. Entries may be empty.
func (r Reward) Adjust(value int64, scheduled, now core.Time) (Reward, []Entry) {
	most := int64(MaxValue)
	if r.Offer.Kind == PercentDiscount {
		most = int64(MaxPercent)
	}
	value = min(max(value, 0), most)
	if r.Offer.Kind != Credit {
		value = max(value, r.Sums.Redeemed)
	}
	r = r.reschedule(scheduled, now)
	change := value - r.Offer.Value()
	if change == 0 {
		return r, nil
	}
	if r.Offer.Kind == PercentDiscount {
		r.Offer.Percent = BasisPoints(value)
	} else {
		r.Offer.Amount = value
	}
	r.Refunded = min(r.Refunded, value)
	ended := r.ended()
	entries := []Entry{r.moved(ActionAdjust, -change, now)}
	if ended {
		var entry Entry
		r, entry = r.end(now)
		entries = append(entries, entry)
	}
	if r.Sums.Reversed > value || r.Offer.Kind != Credit && r.Left() < 0 {
		var entry Entry
		r, entry = r.Reverse(r.Refunded, now)
		entries = append(entries, entry)
	}
	return r, entries
}

// ValidAs returns the reward with the expiry of an offer, unless it is over. Its validity began
// when it was given, and begins now if the offer has another one, or if the reward had no value
// before.
func (r Reward) ValidAs(o Offer, before Reward, now core.Time) Reward {
	empty := before.Offer.Value() == 0 && !before.ended()
	began, last := r.Expires-o.ValidFor, max(now, r.Scheduled)
	switch {
	case before.over(now) && !empty:
	case o.ValidFor <= 0:
		r.Expires = 0
	case empty, r.Expires == 0, began < max(r.Created, r.Scheduled), began > last:
		r.Expires = last + o.ValidFor
	}
	return r
}

// Alike reports whether values of both offers are of one kind, unit and currency.
func (o Offer) Alike(other Offer) bool {
	return o.Kind == other.Kind && o.InUnit() == other.InUnit() && o.Currency == other.Currency
}

// Exchangeable reports whether the reward can become one of another offer: nothing of it was
// used, and neither is a code of a fuel tank.
func (r Reward) Exchangeable(o Offer) bool {
	return r.Sums.Redeemed == 0 && r.Sums.Settled == 0 && r.Offer.Kind != FuelTank && o.Kind != FuelTank
}

// Exchange returns an empty reward as one of another offer, which Adjust fills.
func (r Reward) Exchange(o Offer) Reward {
	o.Unit = o.InUnit()
	o.Amount, o.Percent, o.OfRevenue, o.ValidFor, o.GivenAfter = 0, 0, 0, 0, 0
	r.Offer, r.Exchanged = o, true
	return r
}

// end corrects the amount that expired or was cancelled, so that nothing is left.
func (r Reward) end(now core.Time) (Reward, Entry) {
	sum, action := &r.Sums.Expired, ActionExpire
	if r.Cancelled != 0 {
		sum, action = &r.Sums.Cancelled, ActionCancel
	}
	before := *sum
	*sum = max(0, before+r.Left())
	return r, r.moved(action, *sum-before, now)
}

// reschedule changes the date on which the reward is to be given, unless it was given
// or has expired, and moves its expiry by the same time.
func (r Reward) reschedule(scheduled, now core.Time) Reward {
	if scheduled == r.Scheduled || r.wasGiven() || r.over(now) {
		return r
	}
	if r.Expires != 0 {
		r.Expires += max(r.Created, scheduled) - max(r.Created, r.Scheduled)
	}
	r.Scheduled = scheduled
	if !r.Held {
		r.Given = max(now, scheduled)
	}
	return r
}
