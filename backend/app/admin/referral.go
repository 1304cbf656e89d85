package admin

import (
	"context"

	"kith/backend/app/base"
	"kith/backend/app/referrals"
	"kith/backend/app/rewards"
	"kith/core"
	"kith/core/operation"
	"kith/core/people"
	"kith/core/referral"
)

// Referrals are the referrals of a tenant, and their rewards.
type Referrals struct {
	Base       *base.Base
	API        *referrals.Referrals
	Moderation *rewards.Moderation
	Rewards    *rewards.Rewards
}

// Export calls write with the referrals that a search selects, and adds the export to the
// audit log before; see referrals.Referrals.SearchAll.
func (rs *Referrals) Export(ctx context.Context, c people.Caller, s referral.Search, write func(referral.Referral) error) (complete bool, err error) {
	change := base.Change{Operation: operation.ExportReferrals, Subject: "csv"}
	if err := rs.Base.Act(ctx, c, change, func(context.Context, *base.Change) error { return s.Check() }); err != nil {
		return false, err
	}
	return rs.API.SearchAll(ctx, c.Tenant, s, write)
}

// Chosen is a referral that a member decides about, as the member saw it.
type Chosen struct {
	ID string
	// Seen is its Modified.
	Seen core.Time
}

// Moderate applies a decision to referrals, all or none, with a reason for the audit log. A
// referral that has changed since the member saw it is a conflict.
func (rs *Referrals) Moderate(ctx context.Context, c people.Caller, action referral.Action, reason string, chosen []Chosen) error {
	if err := operation.Moderate.Require(c); err != nil {
		return err
	}
	reason, err := people.ParseReason("reason", reason)
	if err != nil {
		return err
	}
	if _, err := referral.ParseAction("action", string(action)); err != nil {
		return err
	}
	if len(chosen) == 0 {
		return core.Invalid("referral", "choose at least one referral")
	}
	if len(chosen) > referral.MaxModerations {
		return core.Invalid("referral", "choose at most 100 referrals at once")
	}
	ids := make([]string, len(chosen))
	actions := make([]referral.Moderation, len(chosen))
	for i, one := range chosen {
		ids[i] = one.ID
		actions[i] = referral.Moderation{Referral: one.ID, Action: action, Seen: one.Seen}
		if one.Seen == 0 {
			return referral.Changed()
		}
	}
	found, err := rs.API.ListByID(ctx, c.Tenant, ids)
	if err != nil {
		return err
	}
	changes := make([]base.Change, len(found))
	for i, r := range found {
		changes[i] = rewards.Moderated(r, action, reason, rs.Base.Now())
	}
	return rs.Base.ActAll(ctx, c, operation.Moderate, changes, func(ctx context.Context) error {
		return rs.Moderation.Apply(ctx, c, actions)
	})
}

// CancelReward cancels what is left of a reward, with a reason for the audit log. left is
// the amount that the member saw; another one is a conflict.
func (rs *Referrals) CancelReward(ctx context.Context, c people.Caller, id string, left int64, reason string) error {
	return rs.Base.Act(ctx, c, base.Change{Operation: operation.CancelReward}, func(ctx context.Context, entry *base.Change) error {
		reason, err := people.ParseReason("reason", reason)
		if err != nil {
			return err
		}
		w, err := rs.Rewards.ByID(ctx, c.Tenant, id)
		if err != nil {
			return err
		}
		*entry = rewards.Cancelled(w, reason)
		_, err = rs.Rewards.CancelLeft(ctx, c.Tenant, id, left)
		return err
	})
}
