package rules

import (
	"kith/core"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/state"
	"kith/core/webhook"
	"kith/core/wire"
)

// automoderate looks for fraud signals in a changed referral, and applies its
// program's fraud policy.
func (r *Rules) automoderate(s *state.State, do settlement, ref *referral.Referral, did changes) error {
	policy := fraudPolicy(s, ref.Program)
	evidence := r.evidence(s, do, ref, policy, did)
	if did.started {
		var err error
		if evidence.Recent, err = r.rate(s, ref); err != nil {
			return err
		}
	}
	ref.Moderation = ref.Moderation.Automoderate(policy, evidence.Findings(), s.Now).DenyBlocked(evidence.Referrer, s.Now)
	if did.refused {
		ref.Moderation, _ = ref.Moderation.Refuse(referral.Unfit, 0, s.Now)
	}
	return nil
}

// fraudPolicy returns the fraud policy of a program; the zero policy for a deleted
// program.
func fraudPolicy(s *state.State, key core.ProgramKey) referral.FraudPolicy {
	program, _ := s.Program(key)
	return program.Fraud
}

// evidence returns the data on which fraud signals are based, without the rate.
func (r *Rules) evidence(s *state.State, do settlement, ref *referral.Referral, policy referral.FraudPolicy, did changes) (e referral.Evidence) {
	e.Referrer, _ = s.User(ref.Referrer)
	// The call's update of the user is not stored yet.
	e.Referred = do.user
	if do.user.ID != ref.Referred.User {
		e.Referred, _ = s.User(ref.Referred)
	}
	e.TempEmail = r.tempEmail(e.Referred.Email)
	if did.started {
		other, known := s.ReferralOf(ref.Referrer.Account)
		e.Mutual = known && other.Referrer.Account == ref.Referred.Account
	}
	if did.converted && policy.DailyRewards > 0 {
		earned := earnedSince(s, *ref, s.Now-referral.RewardDay)
		e.RewardsToday, e.DailyRewards = earned.InPeriod+1, policy.DailyRewards
	}
	return e
}

// rate returns the number of a referrer's recent referrals, including the new one. If
// there are too many, it flags the others too.
func (r *Rules) rate(s *state.State, ref *referral.Referral) (int, error) {
	recent, _ := s.Recent.Get(state.Who(ref.Referrer))
	count := len(recent) + 1
	if count <= referral.RateMost {
		return count, nil
	}
	for _, one := range recent {
		if one.Flagged {
			continue
		}
		other, ok := s.Referral(one.ID)
		if !ok || other.Moderation.Shows(referral.SignalRate) {
			continue
		}
		before := other.Moderation
		other.Moderation = before.Automoderate(fraudPolicy(s, other.Program), referral.Evidence{Recent: count}.Findings(), s.Now)
		if err := r.KeepModeration(s, before, other); err != nil {
			return 0, err
		}
	}
	return count, nil
}

// Moderate applies a moderation to a referral; ok is false if there is no referral
// with that id.
func (r *Rules) Moderate(s *state.State, a referral.Moderation) (ok bool, err error) {
	ref, ok := s.Referral(a.Referral)
	if !ok {
		return false, nil
	}
	if a.Seen != 0 && a.Seen != ref.Modified {
		return true, referral.Changed()
	}
	before := ref.Moderation
	ref.Moderation = before.Decide(a.Action, s.Now)
	return true, r.KeepModeration(s, before, ref)
}

// KeepModeration stores a moderated referral, and holds, releases, cancels or gives
// its rewards accordingly. before is the moderation before the change.
func (r *Rules) KeepModeration(s *state.State, before referral.ModerationState, ref referral.Referral) error {
	s.PutReferral(ref)
	byEvent := convertsByEvent(s, ref.Program)
	var missing []reward.Source
	changed, denies := false, false
	for _, side := range []struct {
		source        reward.Source
		before, after referral.SideStatus
		reward        *reward.Reward
	}{
		{reward.FriendSignup, before.Referrer.Status, ref.Moderation.Referrer.Status, ref.ReferrerReward},
		{reward.Referred, before.Referred.Status, ref.Moderation.Referred.Status, ref.ReferredReward},
	} {
		changed = changed || side.before != side.after
		// Orders of a denied referral count for no limit.
		denies = denies || (side.before == referral.SideDenied) != (side.after == referral.SideDenied)
		switch {
		case side.before == side.after:
		case side.reward != nil:
			r.moderateReward(s, *side.reward, reward.Moderation(side.after))
		case side.before == referral.SideDenied && ref.State == referral.Converted && !byEvent:
			missing = append(missing, side.source)
		}
	}
	if byEvent && changed && ref.Attributed != 0 {
		again := state.Replay{Program: ref.Program, Referrer: state.Who(ref.Referrer), From: fromAttribution(ref)}
		if denies {
			s.Replays.Add(again)
		}
		again.Moderated = ref.ID
		s.Replays.Add(again)
	}
	if len(missing) == 0 {
		return nil
	}
	return r.unlock(s, &ref, missing...)
}

// MoneyBack takes the rewards of an account's referral back, because all of its first
// payment, which was made at the time paid, was given back at the time returned: if the
// program has a window, no event converts, and returned is within it. It reports whether it
// did; what a moderator has decided since then stays.
func (r *Rules) MoneyBack(s *state.State, account core.AccountID, paid, returned core.Time) (bool, error) {
	ref, ok := s.ReferralOf(account)
	if !ok {
		return false, nil
	}
	program, _ := s.Program(ref.Program)
	if ref.Moderation.Refused == referral.MoneyBack { // this payment was given back before
		return false, nil
	}
	if program.Conversion.ByEvent() || returned < paid || returned > paid+program.MoneyBack || program.MoneyBack == 0 {
		return false, nil
	}
	return r.Refuse(s, ref, referral.MoneyBack, returned)
}

// Refuse takes the rewards of a converted referral back for what happened at a time, and
// reports whether it did; what a moderator has decided since then stays.
func (r *Rules) Refuse(s *state.State, ref referral.Referral, why referral.Refusal, at core.Time) (refused bool, err error) {
	if ref.State != referral.Converted {
		return false, nil
	}
	before := ref.Moderation
	if ref.Moderation, refused = before.Refuse(why, at, s.Now); !refused {
		return false, nil
	}
	return true, r.KeepModeration(s, before, ref)
}

// moderateReward holds, releases or cancels a reward according to its moderation.
func (r *Rules) moderateReward(s *state.State, before reward.Reward, m reward.Moderation) {
	after, entries := before.Moderate(m, s.Now)
	r.Record(s, []Step{{before, after, entries}})
}

// emitReferral emits an event for each change of a referral.
func (r *Rules) emitReferral(s *state.State, ref referral.Referral, did changes) {
	for _, event := range []struct {
		happened bool
		what     webhook.Type
	}{
		{did.started, webhook.ReferralStarted}, {did.started, webhook.ReferralAutomoderated},
		{did.converted, webhook.ReferralConverted}, {did.ended, webhook.ReferralEnded},
	} {
		if event.happened {
			r.emit(s, event.what, func() []byte { return wire.ReferralEvent(ref) })
		}
	}
}
