// Package events holds the use cases of events: taking calls in, for a worker to
// process, and reading what was processed.
package events

import (
	"context"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/eventdb"
	"kith/backend/store/userdb"
	"kith/core"
	"kith/core/event"
	"kith/core/referral"
	"kith/core/rules"
)

// Events are what users did, as shops log it.
type Events struct {
	*base.Base
	// Wake is called after event calls were taken in, for the worker that processes
	// them. It must not block.
	Wake func()
}

// Log takes a batch of events in, at most once for its idempotency key
// (spec 4.6), and returns it with ids and times. An unknown user
// is a not-found error: events create no users.
// A caller without the API key has idempotency keys of their own; see
// event.Batch.OwnKey.
func (es *Events) Log(ctx context.Context, by base.Caller, b event.Batch) (event.Batch, error) {
	tenant := by.Tenant.Alias
	known, err := userdb.UserExists(ctx, es.DB.Reads, tenant, b.Account, b.User)
	if err == nil && !known {
		err = rules.UnknownUser()
	}
	if err != nil {
		return event.Batch{}, err
	}
	if !by.Key {
		b.OwnKey()
	}
	b.Stamp(es.Now(), es.Entropy6)
	added, err := eventdb.AppendIntake(ctx, es.DB, tenant, b)
	if err == nil && !added {
		err = event.Duplicate()
	}
	if err != nil {
		return event.Batch{}, err
	}
	es.Wake()
	return b, nil
}

// ForgetCalls removes the records of event calls that were processed and are
// older than event.CallKept, and returns how many that were. The events stay.
func (es *Events) ForgetCalls(ctx context.Context) (removed int, err error) {
	return es.Forget(ctx, func(tx *store.Tx) (int, error) {
		return eventdb.DeleteProcessedIntake(ctx, tx, tx.Now-event.CallKept, base.ForgetBatch)
	})
}

// List returns a page of the events that were processed, the last received
// first.
func (es *Events) List(ctx context.Context, tenant core.TenantAlias, f event.Filter) ([]event.Logged, error) {
	return eventdb.List(ctx, es.DB.Reads, tenant, f)
}

// ListOf returns a page of the events of each user of a list; see List. The
// filter's own account and user are not regarded.
func (es *Events) ListOf(ctx context.Context, tenant core.TenantAlias, users []referral.Identity, f event.Filter) (map[referral.Identity][]event.Logged, error) {
	found, err := eventdb.ListByUsers(ctx, es.DB.Reads, tenant, users, f)
	byUser := map[referral.Identity][]event.Logged{}
	for _, l := range found {
		who := referral.Identity{Account: l.Account, User: l.User}
		byUser[who] = append(byUser[who], l)
	}
	return byUser, err
}
