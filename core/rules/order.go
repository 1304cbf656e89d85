package rules

import (
	"cmp"
	"slices"

	"kith/core"
	"kith/core/conversion"
	"kith/core/event"
	"kith/core/link"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/state"
	"kith/core/webhook"
	"kith/core/wire"
)

// OrderEvent is an event that may place or take back an order.
type OrderEvent struct {
	Account core.AccountID
	User    core.UserID
	event.Event
}

// WantOrder requests the rows that ApplyOrder needs first, WantPlaced those that it needs
// then, and WantHistory those that it needs last.
func WantOrder(s *state.State, e OrderEvent) {
	s.Facts.Want()
	s.Accounts.Want(e.Account)
	s.Referred.Want(e.Account)
}

// WantPlaced requests the plans, the order and the history of a referred account.
func WantPlaced(s *state.State, e OrderEvent) {
	ref, ok := s.ReferralOf(e.Account)
	if !ok {
		return
	}
	s.Plans.Want(ref.Program)
	s.Orders.Want(orderKey(ref, e.Event))
	if ref.Attributed == 0 {
		s.Histories.Want(state.HistoryKey{Account: e.Account, Program: ref.Program})
	}
}

// WantHistory requests the orders of a loaded history.
func WantHistory(s *state.State, e OrderEvent) {
	ref, ok := s.ReferralOf(e.Account)
	if !ok || ref.Attributed != 0 {
		return
	}
	history, _ := s.Histories.Get(state.HistoryKey{Account: e.Account, Program: ref.Program})
	for _, one := range history {
		s.Orders.Want(orderKey(ref, one))
	}
}

func orderKey(ref referral.Referral, e event.Event) state.OrderKey {
	return state.OrderKey{Referral: ref.ID, Order: wire.OrderEvent(e, nil).OrderKey()}
}

// ApplyOrder applies an event to the orders of the account's referral. If the event
// carries a referral code and may convert, the account is referred first. It returns
// what is to be replayed, after all changes were saved; nil if the event changes
// nothing.
func (r *Rules) ApplyOrder(s *state.State, e OrderEvent) ([]state.Replay, error) {
	account, known := s.Accounts.Get(e.Account)
	if !known {
		return nil, nil
	}
	referred, err := r.attributeOrder(s, account.Account, e)
	if err != nil {
		return nil, err
	}
	ref, ok := s.ReferralOf(e.Account)
	if !ok {
		return nil, nil
	}
	plans, _ := s.Plans.Get(ref.Program)
	if e.Key == conversion.DefaultReversal && !plans.At(ref.Converted).Rule.ByEvent() {
		if taken, err := r.refundFirst(s, account.Account, e.Event); err != nil || taken {
			return nil, err
		}
	}
	if !slices.ContainsFunc(plans, func(p conversion.Plan) bool { return p.Rule.ByEvent() }) {
		return nil, nil
	}
	events := []event.Event{e.Event}
	if ref.Attributed == 0 {
		// Earlier events may be about the first order, or of it.
		history, _ := s.Histories.Get(state.HistoryKey{Account: e.Account, Program: ref.Program})
		events = append(slices.DeleteFunc(slices.Clone(history), func(o event.Event) bool { return o.ID == e.ID }), e.Event)
	}
	orders := orders{rules: r, state: s, ref: ref, plans: plans, referred: referred}
	orders.ref.Attributed = cmp.Or(ref.Attributed, ref.Started)
	for _, one := range events {
		orders.apply(one)
	}
	if orders.ref.Attributed != ref.Attributed {
		s.PutReferral(orders.ref)
	}
	return orders.replays, nil
}

// refundFirst applies an event of an account that converted by its first payment: a refund
// that names neither an order nor an amount is one of all of it. Of any other it is not known
// whether it is of the first payment, nor how much that was. It reports whether it took
// rewards back.
func (r *Rules) refundFirst(s *state.State, account referral.Account, e event.Event) (taken bool, err error) {
	sent := wire.OrderEvent(e, nil)
	if account.Standing.FirstPaid == 0 || sent.OrderID != "" || sent.Revenue != "" || sent.Currency != "" {
		return false, nil
	}
	return r.MoneyBack(s, account.ID, account.Standing.FirstPaid, e.Triggered)
}

// attributeOrder refers an account by the code of an event that may convert, and reports
// whether it did.
func (r *Rules) attributeOrder(s *state.State, account referral.Account, e OrderEvent) (referred bool, err error) {
	if account.Standing.Referral != referral.None {
		return false, nil
	}
	claim, ok := r.orderClaim(s, wire.OrderEvent(e.Event, nil))
	if !ok {
		return false, nil
	}
	if owned, ok := s.Code(claim.Code); ok {
		if program, _ := s.Program(owned.Program); program.Conversion.Event != e.Key {
			return false, nil
		}
	}
	user, _ := s.User(referral.Identity{Account: e.Account, User: e.User})
	done, err := r.settle(s, settlement{account: account, user: user, command: referral.Command{
		Now: s.Now, Claims: []referral.Claim{claim},
	}})
	return done.Newly, err
}

// orderClaim returns the code by which an event may refer its account; ok is false without one.
func (r *Rules) orderClaim(s *state.State, e conversion.Event) (claim referral.Claim, ok bool) {
	switch {
	case e.Code == "" && e.Token == "":
		return claim, false
	case e.Code == "":
		claim = r.cookieClaim(s, e.Token, link.Share{})
	default:
		claim.Code = link.MeantCode(s.Tenant, e.Code)
	}
	// A token is no cookie: it counts for known users too.
	claim.Source = referral.SourceEvent
	if e.Agent {
		claim.Source = referral.SourceAgent
	}
	return claim, true
}

// orders applies events to the orders of one referral.
type orders struct {
	rules   *Rules
	state   *state.State
	ref     referral.Referral
	plans   conversion.Plans
	replays []state.Replay
	// referred is true if this call created the referral: no order of it is stored.
	referred bool
}

func (os *orders) apply(sent event.Event) {
	plan := os.plans.At(sent.Triggered)
	e := wire.OrderEvent(sent, plan.Rule.Fields())
	places := os.places(e.Key)
	if !places && os.reversal(sent.Triggered) != e.Key {
		return
	}
	if claim, ok := os.rules.orderClaim(os.state, e); plan.Rule.Event == e.Key && ok && claim.Fault == "" && claim.Code.Folded() == os.ref.Code.Folded() && e.At < os.ref.Attributed {
		os.ref.Attributed = e.At
		// Earlier orders of the referral may count now.
		os.replay(fromAttribution(os.ref), conversion.Position{})
	}
	key := state.OrderKey{Referral: os.ref.ID, Order: e.OrderKey()}
	if os.referred && !os.state.Orders.Has(key) {
		os.state.Orders.LoadNone(key)
	}
	before, known := os.state.Orders.Get(key)
	after := before
	after.Program, after.Referrer = os.ref.Program, state.Who(os.ref.Referrer)
	after.Referral, after.Order.Key = key.Referral, key.Order
	if !places {
		after.Order = after.Order.Reverse(e, plan)
		os.state.Orders.Put(key, after)
		switch {
		case after.Event == "":
		case after.Returned() != before.Returned():
			// Later orders may earn in its place.
			os.replay(after.Position(), conversion.Position{})
		default:
			// A part changes nothing but what its own order earns.
			os.replay(after.Position(), after.Position())
		}
		return
	}
	after.Order = after.Order.Place(e, plan)
	os.state.Orders.Put(key, after)
	from := after.Position()
	if known && before.Event != "" && before.Position().Compare(from) < 0 {
		from = before.Position()
	}
	os.replay(from, conversion.Position{})
}

// places reports whether an event with this key places an order under any plan: one that does not
// under the plan of its time is listed with the reason.
func (os *orders) places(key string) bool {
	return slices.ContainsFunc(os.plans, func(p conversion.Plan) bool { return p.Rule.Event == key })
}

// reversal returns the key of events that take an order back at a time: that of the plan then
// or, if it converts by PAID, of the plan before it that converts by events, else of the first.
func (os *orders) reversal(at core.Time) (key string) {
	for _, p := range os.plans {
		if p.Rule.ByEvent() && (p.Since <= at || key == "") {
			key = p.Rule.Reversal
		}
	}
	return key
}

func (os *orders) replay(from, until conversion.Position) {
	os.replays = append(os.replays, state.Replay{Program: os.ref.Program, Referrer: state.Who(os.ref.Referrer), From: from, Until: until})
}

// fromAttribution returns the position before all orders of a referral that can count: an
// order of the second of the attribution may, and under Rule.Before the first one.
func fromAttribution(ref referral.Referral) conversion.Position {
	return conversion.Position{At: ref.Attributed - ref.Attributed%core.Second - conversion.MaxBefore}
}

// MergeReplays returns the replays of a list with those of the same orders merged: one
// for each single order, and one for each referrer and program to the end.
func MergeReplays(all []state.Replay) (merged []state.Replay) {
	for _, one := range all {
		at := slices.IndexFunc(merged, func(m state.Replay) bool {
			return m.Program == one.Program && m.Referrer == one.Referrer && m.Until == one.Until
		})
		if at < 0 {
			merged = append(merged, one)
			continue
		}
		if m := &merged[at]; one.From.Compare(m.From) < 0 {
			m.From = one.From
		}
	}
	return slices.DeleteFunc(slices.Clone(merged), func(m state.Replay) bool {
		return m.Until != conversion.Position{} && slices.ContainsFunc(merged, func(o state.Replay) bool {
			return o.Until == conversion.Position{} && o.Program == m.Program && o.Referrer == m.Referrer && o.From.Compare(m.From) <= 0
		})
	})
}

// WantReplay requests the rows that a step of a replay needs first, WantReplayed those
// that it needs then, and WantConverted those that it needs last.
func WantReplay(s *state.State, p state.Replay) {
	s.Facts.Want()
	s.Plans.Want(p.Program)
	s.Sequences.Want(p)
}

// WantReplayed requests the referrals and rewards of a loaded sequence.
func WantReplayed(s *state.State, p state.Replay) {
	sequence, _ := s.Sequences.Get(p)
	for _, o := range sequence.Stored {
		s.Referrals.Want(o.Referral)
		for _, side := range o.Sides {
			if side.Reward != "" {
				s.Rewards.Want(side.Reward)
			}
		}
	}
}

// WantConverted requests the accounts and users of loaded referrals that may convert.
func WantConverted(s *state.State, p state.Replay) {
	sequence, _ := s.Sequences.Get(p)
	for _, o := range sequence.Stored {
		if ref, _ := s.Referrals.Get(o.Referral); ref.State == referral.InProgress {
			s.Accounts.Want(ref.Referred.Account)
			s.Users.Want(state.Who(ref.Referred))
			s.Users.Want(state.Who(ref.Referrer))
		}
	}
}

// ReplayOrders decides the orders of a step of a replay again, converts their referrals
// and changes their rewards accordingly. It returns the rest of the replay; ok is false
// if there is none.
func (r *Rules) ReplayOrders(s *state.State, p state.Replay) (rest state.Replay, ok bool, err error) {
	sequence, _ := s.Sequences.Get(p)
	if p.Moderated != "" {
		r.moderateOrders(s, sequence.Stored)
	} else {
		plans, _ := s.Plans.Get(p.Program)
		for i, d := range plans.Replay(sequence.Chunk) {
			if err := r.decideOrder(s, sequence.Stored[i], d); err != nil {
				return p, false, err
			}
		}
	}
	p.From = sequence.Next
	return p, sequence.More, nil
}

// decideOrder stores what was decided about an order, and makes its rewards agree.
func (r *Rules) decideOrder(s *state.State, o state.Order, d conversion.Decision) error {
	ref, ok := s.Referral(o.Referral)
	if !ok {
		return nil
	}
	if at := conversionTime(s.Now, ref, o); d.Counts() && ref.State != referral.Converted {
		if err := r.convertByOrder(s, &ref, at); err != nil {
			return err
		}
		if ref.Moderation.Referrer.Status == referral.SideDenied || ref.Moderation.Referred.Status == referral.SideDenied {
			// This order, and later ones, were decided before that was known.
			s.Replays.Add(state.Replay{Program: ref.Program, Referrer: state.Who(ref.Referrer), From: o.Position()})
		}
	} else if d.Counts() && at < ref.Converted {
		// An earlier order has arrived later.
		ref.Converted = at
		s.PutReferral(ref)
	}
	o.Reason, o.Number, o.Conversion = d.Reason, d.Number, d.Conversion
	for side, earned := range d.Earned {
		o.Sides[side].Reason = cmp.Or(earned.Reason, d.Reason)
		to := &payee{order: o.Order, side: conversion.Side(side), ref: &ref, paid: &o.Sides[side]}
		if err := r.payOrder(s, to, earned); err != nil {
			return err
		}
	}
	s.Orders.Put(o.Key(), o)
	return nil
}

// conversionTime returns when an order converts a referral (spec 10.1.8): when it was placed,
// so that orders of last month which are imported today count for last month. The clock of
// the sender may be wrong, so it is neither before the referral nor after now.
func conversionTime(now core.Time, ref referral.Referral, o state.Order) core.Time {
	return min(max(o.At, ref.Started), now)
}

// convertByOrder converts a referral by its first order that counts.
func (r *Rules) convertByOrder(s *state.State, ref *referral.Referral, at core.Time) error {
	ref.State, ref.Converted = referral.Converted, at
	account, _ := s.Accounts.Get(ref.Referred.Account)
	account.Standing.Referral = referral.Converted
	s.PutAccount(account.Account)
	user, _ := s.User(ref.Referred)
	did := changes{converted: true}
	if err := r.automoderate(s, settlement{account: account.Account, user: user}, ref, did); err != nil {
		return err
	}
	s.PutReferral(*ref)
	r.emitReferral(s, *ref, did)
	return nil
}

// moderateOrders makes the rewards for orders follow the moderation of their referral.
func (r *Rules) moderateOrders(s *state.State, all []state.Order) {
	for _, o := range all {
		ref, ok := s.Referral(o.Referral)
		if !ok {
			continue
		}
		for side := range o.Sides {
			to := &payee{side: conversion.Side(side), ref: &ref, paid: &o.Sides[side]}
			_, moderation, _ := to.who()
			if w, ok := s.Rewards.Get(to.paid.Reward); ok && to.paid.Reward != "" {
				r.moderateReward(s, w, reward.Moderation(moderation.Status))
			}
		}
	}
}

// payee is a side of an order and its reward.
type payee struct {
	order conversion.Order
	side  conversion.Side
	ref   *referral.Referral
	paid  *conversion.SideOutcome
}

// who returns the user who earns the reward, the moderation of the side, and the source
// of its rewards.
func (to *payee) who() (referral.Identity, referral.Side, reward.Source) {
	if to.side == conversion.Referrer {
		return to.ref.Referrer, to.ref.Moderation.Referrer, reward.FriendSignup
	}
	return to.ref.Referred, to.ref.Moderation.Referred, reward.Referred
}

// payOrder gives the reward of a side for an order, or changes the one that was given.
func (r *Rules) payOrder(s *state.State, to *payee, earned conversion.Earned) error {
	if to.paid.Reward == "" {
		return r.giveForOrder(s, to, earned)
	}
	before, ok := s.Rewards.Get(to.paid.Reward)
	if !ok {
		return nil
	}
	if earned.Gives() && !before.Offer.Alike(earned.Offer) && before.Exchangeable(earned.Offer) {
		// An earlier event of the order has another currency, or is of the time of another
		// version of the program. The reward is emptied as it was, and then filled.
		before = r.empty(s, before).Exchange(earned.Offer)
	}
	value, share, scheduled, filled := int64(0), int64(0), before.Scheduled, false
	switch {
	case earned.Reason == conversion.ReasonDenied, earned.Gives() && !before.Offer.Alike(earned.Offer):
		// The moderation cancelled the reward, and may restore it; or a part of it was used, so
		// that the number of another currency or unit is no value of it. The reward stays, and
		// refunds take back their share of it.
		value, share = before.Offer.Value(), to.order.Share(before.Offer)
	case earned.Gives():
		value, share = earned.Offer.Value(), earned.Share
		scheduled, filled = reward.GrantOf(earned.Offer, to.order.At).Scheduled, true
	}
	after, entries := before.Adjust(value, scheduled, s.Now)
	if filled {
		after = after.ValidAs(earned.Offer, before, s.Now)
	}
	after, reversed := after.Reverse(share, s.Now)
	entries = append(entries, reversed)
	if entries = slices.DeleteFunc(entries, reward.Entry.None); len(entries) == 0 && after.Refunded == before.Refunded && after.Scheduled == before.Scheduled && after.Expires == before.Expires {
		return nil
	}
	r.Record(s, []Step{{before, after, entries}})
	if after.Sums.Reversed != before.Sums.Reversed {
		r.emit(s, webhook.RewardReversed, func() []byte { return wire.Reward(after) })
	}
	return nil
}

// empty records that a reward has the value 0, and returns it.
func (r *Rules) empty(s *state.State, before reward.Reward) reward.Reward {
	after, entries := before.Adjust(0, before.Scheduled, s.Now)
	r.Record(s, []Step{{before, after, entries}})
	return after
}

// giveForOrder gives a side the reward that it earns for an order, and takes back the
// share of the refunds that came before.
func (r *Rules) giveForOrder(s *state.State, to *payee, earned conversion.Earned) error {
	who, moderation, source := to.who()
	if !earned.Gives() || who.User == "" || moderation.Status == referral.SideDenied {
		return nil
	}
	g := reward.GrantOf(earned.Offer, to.order.At)
	if g.Expires != 0 {
		// An order that arrives late has its whole time.
		g.Expires = max(s.Now, g.Scheduled) + earned.Offer.ValidFor
	}
	g.Account, g.User, g.Program, g.Referral, g.Order, g.Source = who.Account, who.User, to.ref.Program, to.ref.ID, to.order.Key, source
	g.Held = moderation.Status == referral.SidePending
	w, err := r.giveOrDue(s, to.ref, g)
	if err != nil || w.ID == "" {
		return err
	}
	if to.paid.Reward = w.ID; earned.Share == 0 {
		return nil
	}
	after, entry := w.Reverse(earned.Share, s.Now)
	r.Record(s, []Step{{w, after, []reward.Entry{entry}}})
	r.emit(s, webhook.RewardReversed, func() []byte { return wire.Reward(after) })
	return nil
}
