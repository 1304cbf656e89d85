package rules

import (
	"slices"

	"kith/core"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/state"
	"kith/core/webhook"
	"kith/core/wire"
)

// unlock gives the rewards of a converted referral that have one of these sources, if
// its moderation and the program's limits permit.
func (r *Rules) unlock(s *state.State, ref *referral.Referral, sources ...reward.Source) error {
	program, ok := s.Program(ref.Program)
	if !ok {
		return UnknownProgram()
	}
	var earned referral.Earned
	if program.Limits.Total > 0 || program.Limits.InPeriod > 0 || len(program.ReferrerTerms.Tiers)+len(program.ReferredTerms.Tiers) > 0 {
		earned = earnedSince(s, *ref, s.Now-program.Limits.Period)
	}
	for _, g := range program.Unlocks(*ref, earned, s.Now) {
		if !slices.Contains(sources, g.Source) {
			continue
		}
		if err := r.giveUnlocked(s, ref, g); err != nil {
			return err
		}
	}
	return nil
}

func earnedSince(s *state.State, ref referral.Referral, since core.Time) referral.Earned {
	earned, _ := s.Earned.Get(state.EarnedKey{Program: ref.Program, Who: state.Who(ref.Referrer), Since: since})
	return earned
}

// giveUnlocked gives one reward of a referral. If its fuel tank is empty, the reward
// is recorded as due.
func (r *Rules) giveUnlocked(s *state.State, ref *referral.Referral, g reward.Grant) error {
	_, err := r.giveOrDue(s, ref, g)
	return err
}

// giveOrDue is giveUnlocked, and returns the reward; the zero Reward if it is due.
func (r *Rules) giveOrDue(s *state.State, ref *referral.Referral, g reward.Grant) (w reward.Reward, err error) {
	if core.IsErased(g.User) {
		return w, nil
	}
	g.Block = blockOf(s, referral.Identity{Account: g.Account, User: g.User})
	if g.Offer.Kind != reward.FuelTank {
		if w, err = r.Give(s, g); err == nil {
			ref.Attach(w)
		}
		return w, err
	}
	key := state.TankKey{Program: ref.Program, Side: referral.SideOf(g.Source)}
	tank, _ := s.Tanks.Get(key)
	if len(tank.Codes) == 0 {
		if s.Tanks.Has(key) && !tank.Whole {
			s.Tanks.Renew(key)
			return w, nil
		}
		s.FuelDues.Add(state.FuelDue{TankKey: key, Referral: ref.ID})
		return w, nil
	}
	next := tank.Codes[0]
	g.FuelTankCode, g.FuelTankType = next.Code, g.Offer.TankType()
	if w, err = r.Give(s, g); err != nil {
		return w, err
	}
	ref.Attach(w)
	s.Tanks.Put(key, state.Tank{Codes: tank.Codes[1:], Whole: tank.Whole})
	s.UsedFuel.Add(state.UsedFuel{Number: next.Number, Reward: w.ID})
	return w, nil
}

// blockOf returns what a block does to the rewards of a user; empty without a block.
func blockOf(s *state.State, who referral.Identity) reward.Block {
	if !s.Facts.Get().Blocking {
		return ""
	}
	u, _ := s.User(who)
	return u.BlockedRewards
}

// GiveDue gives the due reward of one side of a converted referral, now that the fuel
// tank has a code. If an event converts, the orders of the referral are decided again
// for that. It does not check the program's limits, which were checked when
// the reward was earned. It does nothing if the referral was deleted.
func (r *Rules) GiveDue(s *state.State, program referral.Program, side referral.SideKey, id string) error {
	ref, ok := s.Referral(id)
	if !ok {
		return nil
	}
	if program.Conversion.ByEvent() {
		s.Replays.Add(state.Replay{Program: ref.Program, Referrer: state.Who(ref.Referrer), From: fromAttribution(ref)})
		return nil
	}
	for _, g := range program.Unlocks(ref, referral.Earned{}, s.Now) {
		if g.Source != side.Source() {
			continue
		}
		if err := r.giveUnlocked(s, &ref, g); err != nil {
			return err
		}
	}
	return nil
}

// CreateReward gives a user a reward. An unknown user is a CodeNotFound error; an
// invalid grant is an error about its field. A grant whose ID a reward has gives nothing,
// and is a CodeConflict error.
func (r *Rules) CreateReward(s *state.State, g reward.Grant) (reward.Reward, error) {
	if _, known := s.Users.Get(referral.Identity{Account: g.Account, User: g.User}); !known {
		return reward.Reward{}, UnknownUser()
	}
	if err := g.CheckDates(s.Now); err != nil {
		return reward.Reward{}, err
	}
	if g.ID != "" {
		if given, known := s.Rewards.Get(g.ID); known {
			return reward.Reward{}, givenBefore(given, g)
		}
	}
	return r.Give(s, g)
}

// givenBefore returns the error for a grant with the id of a reward that was given, by this grant
// or by another one.
func givenBefore(given reward.Reward, g reward.Grant) *core.Error {
	was, is := given.Offer, g.Offer
	if given.Account != g.Account || given.User != g.User || was.Kind != is.Kind || was.Unit != is.Unit || was.Currency != is.Currency ||
		was.Value() != is.Value() || was.Name != is.Name {
		return &core.Error{Code: core.CodeConflict, Differs: true, Message: "another reward was given with this id; nothing was given: give this one with a new id"}
	}
	return &core.Error{Code: core.CodeConflict, Message: "this reward was given already; nothing was given again"}
}

// Give creates a reward. All rewards are created here. An invalid grant is an error
// about its field.
func (r *Rules) Give(s *state.State, g reward.Grant) (reward.Reward, error) {
	id := g.ID
	if id == "" {
		id = r.newID(s)
	}
	w, entries, err := g.Begin(id, s.Now)
	if err != nil {
		return w, err
	}
	r.Record(s, []Step{{After: w, Entries: entries}})
	// It may have settled debts.
	w, _ = s.Rewards.Get(w.ID)
	return w, nil
}

// Step is a change of one reward. Before is the zero Reward if the reward is new.
type Step struct {
	Before, After reward.Reward
	Entries       []reward.Entry
}

// Record stores the changed rewards, adds their entries to the ledger, settles debts of
// their owners, and emits an event for each reward that was given and for each owner
// whose balance changed.
func (r *Rules) Record(s *state.State, steps []Step) {
	for _, step := range steps {
		if step.Before.ID != "" && !s.Rewards.Has(step.Before.ID) {
			s.Rewards.Load(step.Before.ID, step.Before)
		}
		s.PutReward(step.After)
		s.Billing.Add(step.After.Account)
		for _, entry := range step.Entries {
			if !entry.None() {
				entry.ID = r.newID(s)
				s.Ledger.Add(entry)
			}
		}
	}
	r.settleDebts(s, steps)
	if s.Listens() {
		r.emitSteps(s, steps)
	}
}

// settleDebts settles debts of the owners of changed rewards, if credit became
// available or a debt became larger. It changes no owner's balance.
func (r *Rules) settleDebts(s *state.State, steps []Step) {
	var keys []state.OwingKey
	for _, step := range steps {
		owes := step.After.Debt() > step.Before.Debt()
		if !owes && !step.Before.Unsettled && step.After.Spendable(s.Now) <= step.Before.Spendable(s.Now) {
			continue
		}
		if owes {
			s.SetIndebted()
		}
		if key := state.OwingOf(step.After); s.Indebted() && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	for _, key := range keys {
		r.settleOwing(s, key)
	}
}

// settleOwing settles the debts of an owner, at most reward.MaxSettled at once. A
// worker settles the others.
func (r *Rules) settleOwing(s *state.State, key state.OwingKey) {
	debts, more := owing(s, key, nil)
	if !slices.ContainsFunc(debts, func(w reward.Reward) bool { return w.Debt() > 0 }) && !more {
		return
	}
	key.Credits = true
	all, moreCredits := owing(s, key, debts)
	changed, entries := reward.SettleDebts(all, s.Now)
	for _, w := range changed {
		s.PutReward(w)
	}
	for _, entry := range entries {
		entry.ID = r.newID(s)
		s.Ledger.Add(entry)
	}
	for _, w := range all {
		w, _ = s.Rewards.Get(w.ID)
		more, moreCredits = more || w.Debt() > 0, moreCredits || w.Spendable(s.Now) > 0
	}
	if more && moreCredits && len(all) > 0 {
		w, _ := s.Rewards.Get(all[0].ID)
		w.Unsettled = true
		s.PutReward(w)
	}
}

// owing appends the rewards of a key that the list does not have, and reports whether
// the key has more.
func owing(s *state.State, key state.OwingKey, list []reward.Reward) ([]reward.Reward, bool) {
	found, _ := s.Owing.Get(key)
	for _, id := range found.Rewards {
		if w, _ := s.Rewards.Get(id); !slices.ContainsFunc(list, func(other reward.Reward) bool { return other.ID == id }) {
			list = append(list, w)
		}
	}
	return list, found.More
}

func (r *Rules) emitSteps(s *state.State, steps []Step) {
	type changed struct {
		reward.Owner
		currency string
	}
	var all []changed
	for _, step := range steps {
		after := step.After
		if after.GivenSince(step.Before) {
			settled, _ := s.Rewards.Get(after.ID)
			r.emit(s, webhook.RewardCreated, func() []byte { return wire.Reward(settled) })
		}
		if !after.HasBalance() {
			continue
		}
		one := changed{after.Owner(), after.Offer.Currency}
		s.AddBalance(one.Owner, one.currency, after.Available(s.Now))
		if step.Before.ID != "" {
			// A correction may change the currency.
			s.AddBalance(one.Owner, step.Before.Offer.Currency, -step.Before.Available(s.Now))
		}
		if step.Before.Recorded() != after.Recorded() && !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	var reported []changed
	for _, one := range all {
		purse, _ := s.Balances.Get(one.Owner)
		money := purse.Of(one.currency)
		if one.currency = money.Currency; slices.Contains(reported, one) {
			continue
		}
		reported = append(reported, one)
		change := reward.Change{Owner: one.Owner, Currency: money.Currency, Available: money.Available, Version: s.LedgerEnd()}
		r.emit(s, webhook.RewardBalanceChanged, func() []byte { return wire.RewardBalanceChanged(change) })
	}
}
