package app

import (
	"context"
	"strconv"

	"kith/backend/store"
	"kith/core"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/webhook"
	"kith/core/wire"
)

// automoderate finds signs of fraud in a referral that moved, and handles them
// as its program says.
func (s settlement) automoderate(ctx context.Context, ref *referral.Referral, did move) error {
	policy, err := s.fraudPolicy(ctx, ref.Program)
	if err != nil {
		return err
	}
	evidence, err := s.evidence(ctx, ref, policy, did)
	if err != nil {
		return err
	}
	if did.started {
		if evidence.Recent, err = s.rate(ctx, ref); err != nil {
			return err
		}
	}
	ref.Moderation = ref.Moderation.Automoderate(policy, evidence.Findings(), s.tx.Now)
	if did.refused {
		ref.Moderation = ref.Moderation.Refuse(s.tx.Now)
	}
	return nil
}

// fraudPolicy is that of a program; one that is gone has none.
func (s settlement) fraudPolicy(ctx context.Context, key core.ProgramKey) (referral.FraudPolicy, error) {
	program, err := s.tx.Program(ctx, s.tenant, key)
	if isNotFound(err) {
		return referral.FraudPolicy{}, nil
	}
	return program.Fraud, err
}

// evidence is what is known of the two users of a referral, but for the rate.
func (s settlement) evidence(ctx context.Context, ref *referral.Referral, policy referral.FraudPolicy, did move) (e referral.Evidence, err error) {
	if e.Referrer, _, err = s.tx.User(ctx, s.tenant, ref.Referrer.Account, ref.Referrer.User); err != nil {
		return e, err
	}
	// What the call says of its user is not stored yet.
	e.Referred = s.user
	if s.user.ID != ref.Referred.User {
		if e.Referred, _, err = s.tx.User(ctx, s.tenant, ref.Referred.Account, ref.Referred.User); err != nil {
			return e, err
		}
	}
	e.TempEmail = s.e.tempEmail(e.Referred.Email)
	if did.converted && policy.DailyRewards > 0 {
		earned, err := s.tx.Earned(ctx, s.tenant, ref.Program, ref.Referrer, s.tx.Now-referral.RewardDay)
		if err != nil {
			return e, err
		}
		e.RewardsToday, e.DailyRewards = earned.InPeriod+1, policy.DailyRewards
	}
	return e, nil
}

// tempEmail reports whether the operator's list has the domain of an address.
func (e *Engine) tempEmail(address string) bool {
	return e.TempDomains != nil && referral.InDomains(referral.MailDomain(address), func(d string) bool { return e.TempDomains[d] })
}

// maxRecent bounds how many referrals of one referrer are looked at. As soon as
// one too many comes, all within the time are flagged, so that the unflagged
// ones are never more than referral.RateMost.
const maxRecent = 10

// rate counts the referrals of a referrer that began lately, the new one among
// them. One too many flags the others too.
func (s settlement) rate(ctx context.Context, ref *referral.Referral) (int, error) {
	recent, err := s.tx.RecentReferrals(ctx, s.tenant, ref.Referrer, s.tx.Now-referral.RateWindow, maxRecent)
	if err != nil {
		return 0, err
	}
	count := len(recent) + 1
	if count <= referral.RateMost {
		return count, nil
	}
	for _, other := range recent {
		if other.Moderation.Shows(referral.SignalRate) {
			continue
		}
		policy, err := s.fraudPolicy(ctx, other.Program)
		if err != nil {
			return 0, err
		}
		before := other.Moderation
		other.Moderation = before.Automoderate(policy, referral.Evidence{Recent: count}.Findings(), s.tx.Now)
		if err := s.e.keepModeration(ctx, s.tx, s.tenant, before, &other); err != nil {
			return 0, err
		}
	}
	return count, nil
}

// Moderate carries out what somebody decided about referrals, all of it or
// nothing. An unknown referral is a not-found error that names the line.
func (e *Engine) Moderate(ctx context.Context, tenant core.TenantAlias, actions []referral.Moderation) error {
	if len(actions) == 0 || len(actions) > referral.MaxModerations {
		return core.Invalid("actions", "must have 1 to "+strconv.Itoa(referral.MaxModerations)+" elements")
	}
	return e.DB.Write(ctx, e.Now(), func(tx *store.Tx) error {
		for i, a := range actions {
			ref, err := tx.Referral(ctx, tenant, a.Referral)
			if err == nil && ref == nil {
				err = &core.Error{
					Code: core.CodeNotFound, Field: "actions[" + strconv.Itoa(i) + "].referralId", Message: "there is no such referral",
				}
			}
			if err != nil {
				return err
			}
			before := ref.Moderation
			ref.Moderation = before.Decide(a.Action, tx.Now)
			if err := e.keepModeration(ctx, tx, tenant, before, ref); err != nil {
				return err
			}
		}
		return nil
	})
}

// keepModeration stores what was decided about a referral, and does to its
// rewards what follows from it.
func (e *Engine) keepModeration(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, before referral.ModerationState, ref *referral.Referral) error {
	ref.Modified = tx.Now
	if err := tx.PutReferral(ctx, tenant, *ref); err != nil {
		return err
	}
	var missing []reward.Source
	for _, side := range []struct {
		source        reward.Source
		before, after referral.SideStatus
		reward        *reward.Reward
	}{
		{reward.FriendSignup, before.Referrer.Status, ref.Moderation.Referrer.Status, ref.ReferrerReward},
		{reward.Referred, before.Referred.Status, ref.Moderation.Referred.Status, ref.ReferredReward},
	} {
		switch {
		case side.before == side.after:
		case side.reward != nil:
			if err := e.ModerateRewards(ctx, tx, tenant, ref.ID, side.source, reward.Moderation(side.after)); err != nil {
				return err
			}
		case side.before == referral.SideDenied && ref.State == referral.Converted:
			missing = append(missing, side.source)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return e.unlock(ctx, tx, tenant, ref, missing...)
}

// tellReferral tells the tenant's systems how a referral moved.
func (e *Engine) tellReferral(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, ref referral.Referral, did move) error {
	for _, event := range []struct {
		happened bool
		what     webhook.Type
	}{
		{did.started, webhook.ReferralStarted}, {did.started, webhook.ReferralAutomoderated},
		{did.converted, webhook.ReferralConverted}, {did.ended, webhook.ReferralEnded},
	} {
		if !event.happened {
			continue
		}
		if err := e.emit(ctx, tx, tenant, event.what, wire.ReferralEvent(ref)); err != nil {
			return err
		}
	}
	return nil
}
