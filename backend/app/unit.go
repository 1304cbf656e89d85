package app

import (
	"context"

	"kith/backend/store"
	"kith/core"
	"kith/core/referral"
	"kith/core/rules"
	"kith/core/state"
)

// rules decides calls with the engine's keys and entropy.
func (e *Engine) rules() *rules.Rules {
	return &rules.Rules{Keys: e.Keys, TempDomains: e.TempDomains, Entropy: e.Entropy}
}

func (e *Engine) unit(tx *store.Tx, tenant core.TenantAlias) *store.Unit {
	return tx.Unit(tenant, func(who referral.Identity) string { return e.Keys.Identity(tenant, who.Account, who.User) })
}

// decide decides one call in a transaction of its own; see store.Unit.Decide.
func (e *Engine) decide(ctx context.Context, tenant core.TenantAlias, decide func(*state.State) error) error {
	return e.DB.Write(ctx, e.Now(), func(tx *store.Tx) error { return e.decideWithin(ctx, tx, tenant, decide) })
}

// decideWithin decides one call in a transaction that does more besides.
func (e *Engine) decideWithin(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, decide func(*state.State) error) error {
	u := e.unit(tx, tenant)
	if err := u.Decide(ctx, decide); err != nil {
		return err
	}
	return u.Save(ctx)
}
