// Package events has the use cases of events: storing the events of a call for a worker
// to process, and reading processed events.
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

// Events stores and reads the events of users that shops log.
type Events struct {
	*base.Base
	// Wake is called after events were stored, to wake the worker that processes
	// them. It must not block, and must not be nil.
	Wake func()
}

// Log stores the events of a call, at most once for each idempotency key (spec 4.6), and
// returns them with ids and times. A key that was used is event.Duplicate. An unknown
// user is a not-found error: events create no users. The idempotency keys of a caller
// without the API key are separate; see event.Call.OwnKey.
func (es *Events) Log(ctx context.Context, by base.Caller, c event.Call) (event.Call, error) {
	tenant := by.Tenant.Alias
	known, err := userdb.UserExists(ctx, es.DB.Reads, tenant, c.Account, c.User)
	if err == nil && !known {
		err = rules.UnknownUser()
	}
	if err != nil {
		return event.Call{}, err
	}
	if c.Trusted = by.Key; !c.Trusted {
		c.OwnKey()
	}
	c.Stamp(es.Now(), es.Entropy6)
	added, err := eventdb.AppendIntake(ctx, es.DB, tenant, c)
	if err == nil && !added {
		err = event.Duplicate()
	}
	if err != nil {
		return event.Call{}, err
	}
	es.Wake()
	return c, nil
}

// ForgetCalls removes the records of processed event calls that are older than
// event.CallKept, and returns their number. The events stay.
func (es *Events) ForgetCalls(ctx context.Context) (removed int, err error) {
	return es.Forget(ctx, func(tx *store.Tx) (int, error) {
		return eventdb.DeleteProcessedIntake(ctx, tx, tx.Now-event.CallKept, base.ForgetBatch)
	})
}

// List returns a page of the processed events that match the filter, the last received
// first.
func (es *Events) List(ctx context.Context, tenant core.TenantAlias, f event.Filter) ([]event.Logged, error) {
	return eventdb.List(ctx, es.DB.Reads, tenant, f)
}

// ListOf returns a page of the events of each of the users; see List. The account and
// the user of the filter are ignored.
func (es *Events) ListOf(ctx context.Context, tenant core.TenantAlias, users []referral.Identity, f event.Filter) (map[referral.Identity][]event.Logged, error) {
	found, err := eventdb.ListByUsers(ctx, es.DB.Reads, tenant, users, f)
	byUser := map[referral.Identity][]event.Logged{}
	for _, l := range found {
		user := referral.Identity{Account: l.Account, User: l.User}
		byUser[user] = append(byUser[user], l)
	}
	return byUser, err
}
