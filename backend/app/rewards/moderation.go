package rewards

import (
	"context"
	"strconv"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/core"
	"kith/core/referral"
	"kith/core/state"
)

// Moderation applies manual decisions about referrals.
type Moderation struct{ *base.Base }

// Apply applies all actions in order, or none of them. It takes 1 to
// referral.MaxModerations actions. An unknown referral is a not-found error whose Field
// has the index of the action.
func (m *Moderation) Apply(ctx context.Context, tenant core.TenantAlias, actions []referral.Moderation) error {
	if len(actions) == 0 || len(actions) > referral.MaxModerations {
		return core.Invalid("actions", "must have 1 to "+strconv.Itoa(referral.MaxModerations)+" elements")
	}
	return m.DB.Write(ctx, m.Now(), func(tx *store.Tx) error {
		u := m.Unit(tx, tenant)
		for _, a := range actions {
			u.Referrals.Want(a.Referral)
		}
		for i, a := range actions {
			if err := u.Decide(ctx, func(s *state.State) error { return m.moderate(s, i, a) }); err != nil {
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
