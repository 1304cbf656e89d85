package rewards

import (
	"context"
	"strconv"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/core"
	"kith/core/operation"
	"kith/core/people"
	"kith/core/referral"
	"kith/core/state"
)

// Moderation applies manual decisions about referrals.
type Moderation struct{ *base.Base }

// Moderated returns the change that a decision about a referral makes, for the audit log.
func Moderated(r referral.Referral, action referral.Action, reason string, now core.Time) base.Change {
	after := r.Moderation.Decide(action, now)
	change := base.Change{
		Operation: operation.ApproveReferral, Subject: r.ID,
		Before:  base.Acted{Referrer: r.Moderation.Referrer.Status, Referred: r.Moderation.Referred.Status},
		After:   base.Acted{Decision: action, Referrer: after.Referrer.Status, Referred: after.Referred.Status, Reason: reason},
		Account: r.Referred.Account, User: r.Referred.User,
	}
	switch action {
	case referral.Deny, referral.DenyReferrer, referral.DenyReferred:
		change.Operation = operation.DenyReferral
	}
	if r.Referred.User == "" || action == referral.ApproveReferrer || action == referral.DenyReferrer {
		change.Account, change.User = r.Referrer.Account, r.Referrer.User
	}
	return change
}

// Apply applies all actions in order to referrals of the caller's tenant, or none of them.
// The audit log gets those of API keys, and those with a reason. It takes 1 to referral.MaxModerations actions. An
// unknown referral is a not-found error whose Field has the index of the action.
func (m *Moderation) Apply(ctx context.Context, c people.Caller, actions []referral.Moderation) error {
	if len(actions) == 0 || len(actions) > referral.MaxModerations {
		return core.Invalid("actions", "must have 1 to "+strconv.Itoa(referral.MaxModerations)+" elements")
	}
	return m.DB.Write(ctx, m.Now(), func(tx *store.Tx) error {
		u := m.Unit(tx, c.Tenant)
		for _, a := range actions {
			u.Referrals.Want(a.Referral)
		}
		for i, a := range actions {
			var before referral.Referral
			err := u.Decide(ctx, func(s *state.State) error {
				before, _ = s.Referral(a.Referral)
				return m.moderate(s, i, a)
			})
			if err == nil && (c.Key || a.Reason != "") {
				err = base.Audit(ctx, tx, c, Moderated(before, a.Action, a.Reason, tx.Now))
			}
			if err != nil {
				return err
			}
		}
		return u.Save(ctx)
	})
}

func (m *Moderation) moderate(s *state.State, i int, a referral.Moderation) error {
	known, err := m.Rules().Moderate(s, a)
	if err == nil && !known {
		err = &core.Error{
			Code: core.CodeNotFound, Field: "actions[" + strconv.Itoa(i) + "].referralId", Message: "there is no such referral",
		}
	}
	return err
}
