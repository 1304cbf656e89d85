package base

import (
	"context"
	"errors"

	"kith/backend/store"
	"kith/backend/store/unit"
	"kith/backend/store/webhookdb"
	"kith/core"
	"kith/core/referral"
	"kith/core/rules"
	"kith/core/state"
	"kith/core/webhook"
)

// Rules returns the rules that decide calls, with the keys and the randomness of b.
func (b *Base) Rules() *rules.Rules {
	return &rules.Rules{Keys: b.Keys, TempDomains: b.TempDomains, Entropy: b.Entropy}
}

// Unit returns the unit of work of a tenant in a transaction.
func (b *Base) Unit(tx *store.Tx, tenant core.TenantAlias) *unit.Unit {
	return unit.New(tx, tenant, func(who referral.Identity) string { return b.Keys.Identity(tenant, who.Account, who.User) })
}

// Decide decides one call in a transaction of its own; see store.Unit.Decide.
func (b *Base) Decide(ctx context.Context, tenant core.TenantAlias, decide func(*state.State) error) error {
	return b.DB.Write(ctx, b.Now(), func(tx *store.Tx) error { return b.DecideWithin(ctx, tx, tenant, decide) })
}

// DecideWithin decides one call in a transaction that does more besides.
func (b *Base) DecideWithin(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, decide func(*state.State) error) error {
	u := b.Unit(tx, tenant)
	if err := u.Decide(ctx, decide); err != nil {
		return err
	}
	return u.Save(ctx)
}

// Emit stores a webhook event, which is sent once the transaction has committed. data is the event's JSON, as core/wire writes it.
func (b *Base) Emit(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, t webhook.Type, data []byte) error {
	return webhookdb.Emit(ctx, tx, tenant, b.IDAt(tx.Now), t, data)
}

// ForgetBatch bounds one transaction: it holds the write lock.
const ForgetBatch = 500

// Forget removes some rows at a time until nothing is left to remove, and returns
// how many rows that were.
func (b *Base) Forget(ctx context.Context, some func(*store.Tx) (int, error)) (removed int, err error) {
	for {
		n := 0
		err := b.DB.Write(ctx, b.Now(), func(tx *store.Tx) (err error) {
			n, err = some(tx)
			return err
		})
		removed += n
		if err != nil || n == 0 {
			return removed, err
		}
	}
}

// IsNotFound reports whether an error says that something is not there.
func IsNotFound(err error) bool {
	var e *core.Error
	return errors.As(err, &e) && e.Code == core.CodeNotFound
}
