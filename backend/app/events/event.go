// Package events has the use cases of events: storing the events of a call for a worker
// to process, and reading processed events.
package events

import (
	"context"
	"time"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/eventdb"
	"kith/core"
	"kith/core/event"
	"kith/core/referral"
)

// Events stores and reads the events of users that shops log.
type Events struct {
	*base.Base
	// Wake is called after events were stored, to wake the worker that processes
	// them. It must not block, and must not be nil.
	Wake func()
	// Timeout bounds each write of Log, which may wait for a lock that a paused process holds. Zero means
	// no bound.
	Timeout time.Duration
	appends eventdb.Appends
}

// Log stores the events of a call, at most once for each idempotency key (spec 4.6), and
// returns them with ids and times. A key that was used is event.Duplicate. An unknown
// user is a not-found error: events create no users. The idempotency keys of a caller
// without the API key are separate; see event.Call.OwnKey.
func (es *Events) Log(ctx context.Context, by base.Caller, c event.Call) (event.Call, error) {
	logged, err := es.log(ctx, by, c, func(ctx context.Context, c event.Call) (bool, error) {
		return es.appends.Append(ctx, es.DB, by.Tenant.Alias, c)
	})
	es.recordRefused(ctx, by, c, err)
	return logged, err
}

// LogWithEntry is Log in a transaction, for a member whose change belongs to the audit log.
func (es *Events) LogWithEntry(ctx context.Context, by base.Caller, c event.Call) (event.Call, error) {
	return es.log(ctx, by, c, func(ctx context.Context, c event.Call) (bool, error) {
		err := es.DB.Write(ctx, es.Now(), func(tx *store.Tx) error {
			added, err := eventdb.AppendIntakeWithin(ctx, tx, by.Tenant.Alias, c)
			if err == nil && !added {
				err = event.Duplicate("")
			}
			return err
		})
		return err == nil, err
	})
}

// appending appends a call to the intake. It returns false if its key was used before.
type appending func(context.Context, event.Call) (added bool, err error)

// log is logNow, within Timeout.
func (es *Events) log(ctx context.Context, by base.Caller, c event.Call, add appending) (event.Call, error) {
	bounded, cancel := es.bounded(ctx)
	defer cancel()
	c, err := es.logNow(bounded, by, c, add)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		err = &core.Error{
			Code: core.CodeUnavailable, Message: "the events could not be stored in time; send them again, with the same idempotencyKey", Err: err,
		}
	}
	return c, err
}

// bounded returns a context that ends after Timeout.
func (es *Events) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if es.Timeout > 0 {
		return context.WithTimeout(ctx, es.Timeout)
	}
	return ctx, func() {}
}

func (es *Events) logNow(ctx context.Context, by base.Caller, c event.Call, add appending) (event.Call, error) {
	if err := base.MustExist(ctx, es.DB.Reads, by.Tenant.Alias, c.Account, c.User); err != nil {
		return event.Call{}, err
	}
	if c.Trusted = by.Key; !c.Trusted {
		c.OwnKey()
	}
	c.Stamp(es.Now(), es.Entropy6())
	added, err := add(ctx, c)
	if err == nil && !added || event.IsDuplicate(err) {
		var recorded string
		if recorded, err = eventdb.Recorded(ctx, es.DB.Reads, by.Tenant.Alias, c); err == nil {
			err = event.Duplicate(recorded)
		}
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
	return eventdb.List(ctx, es.DB.Lists, tenant, f)
}

// ListOf returns a page of the events of each of the users; see List. The account and
// the user of the filter are ignored.
func (es *Events) ListOf(ctx context.Context, tenant core.TenantAlias, users []referral.Identity, f event.Filter) (map[referral.Identity][]event.Logged, error) {
	found, err := eventdb.ListByUsers(ctx, es.DB.Lists, tenant, users, f)
	byUser := map[referral.Identity][]event.Logged{}
	for _, l := range found {
		user := referral.Identity{Account: l.Account, User: l.User}
		byUser[user] = append(byUser[user], l)
	}
	return byUser, err
}
