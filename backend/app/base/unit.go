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

// Rules returns the rules that decide calls, with the keys and the Entropy of b.
func (b *Base) Rules() *rules.Rules {
	return &rules.Rules{Keys: b.Keys, TempDomains: b.TempDomains, Entropy: b.Entropy}
}

// Unit returns a new unit of work of a tenant in a transaction.
func (b *Base) Unit(tx *store.Tx, tenant core.TenantAlias) *unit.Unit {
	return unit.New(tx, tenant, func(who referral.Identity) string { return b.Keys.Identity(tenant, who.Account, who.User) })
}

// Decide decides one call in a transaction of its own, and saves the result unless
// decide returns an error; see unit.Unit.Decide.
func (b *Base) Decide(ctx context.Context, tenant core.TenantAlias, decide func(*state.State) error) error {
	return b.DB.Write(ctx, b.Now(), func(tx *store.Tx) error { return b.DecideWithin(ctx, tx, tenant, decide) })
}

// DecideWithin is Decide within the transaction tx.
func (b *Base) DecideWithin(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, decide func(*state.State) error) error {
	u := b.Unit(tx, tenant)
	if err := u.Decide(ctx, decide); err != nil {
		return err
	}
	return u.Save(ctx)
}

// Emit stores a webhook event for all endpoints of a tenant. It is sent after the
// transaction has committed. data is the event's JSON, as core/wire writes it.
func (b *Base) Emit(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, t webhook.Type, data []byte) error {
	return webhookdb.Emit(ctx, tx, tenant, b.IDAt(tx.Now), t, data)
}

// ForgetBatch is the number of rows that one transaction of Forget removes at most. A
// larger number would block other writers for longer.
const ForgetBatch = 500

// Forget calls removeBatch in one transaction after the other, until it removes no more
// rows. It returns the number of rows that were removed in all.
func (b *Base) Forget(ctx context.Context, removeBatch func(*store.Tx) (int, error)) (removed int, err error) {
	for {
		n, err := store.WriteValue(ctx, b.DB.Write, b.Now(), removeBatch)
		removed += n
		if err != nil || n == 0 {
			return removed, err
		}
	}
}

// IsNotFound reports whether err is a core.Error with core.CodeNotFound.
func IsNotFound(err error) bool { return HasCode(err, core.CodeNotFound) }

// IsConflict reports whether err is a core.Error with CodeConflict.
func IsConflict(err error) bool { return HasCode(err, core.CodeConflict) }

// HasCode reports whether err is a core.Error with a code.
func HasCode(err error, code core.Code) bool {
	e, ok := errors.AsType[*core.Error](err)
	return ok && e.Code == code
}

// Refused reports whether err is a decision about the call, which would be the same at the next
// attempt, and not a failure of the service.
func Refused(err error) bool {
	e, ok := errors.AsType[*core.Error](err)
	return ok && e.Code != core.CodeInternal && e.Code != core.CodeUnavailable
}
