package app

import (
	"context"

	"kith/backend/store"
	"kith/core"
	"kith/core/rules"
	"kith/core/state"
)

// Identify stores what is said of a user and of their account; see
// rules.Rules.Identify.
func (e *Engine) Identify(ctx context.Context, tenant core.TenantAlias, in rules.Identification) (out rules.Identified, err error) {
	err = e.DB.Write(ctx, e.Now(), func(tx *store.Tx) error {
		u, r := e.Unit(tx, tenant), e.Rules()
		if err := loadIdentifications(ctx, u, r, []rules.Identification{in}); err != nil {
			return err
		}
		err := u.Decide(ctx, func(s *state.State) (err error) {
			out, err = r.Identify(s, in)
			return err
		})
		if err != nil {
			return err
		}
		return u.Save(ctx)
	})
	return out, err
}

// loadIdentifications loads what identifications need, by two rounds of statements.
func loadIdentifications(ctx context.Context, u *store.Unit, r *rules.Rules, all []rules.Identification) error {
	for _, want := range []func(*state.State, rules.Identification){r.WantIdentify, r.WantMore} {
		for _, in := range all {
			want(u.State, in)
		}
		if err := u.Load(ctx); err != nil {
			return err
		}
	}
	return nil
}
