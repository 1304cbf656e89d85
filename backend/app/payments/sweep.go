package payments

import (
	"context"
	"slices"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/billingdb"
	"kith/core"
)

// A gateway is searched at these intervals for subscriptions that no notification named:
// gateways send none when a subscription is created, and notifications get lost.
const (
	// SweepEvery is the interval of searches for new subscriptions. It is short, so
	// that a trial has its discount before its first bill.
	SweepEvery = 10 * core.Minute
	// SweepAllEvery is the interval of searches for all subscriptions with future bills.
	SweepAllEvery = core.Day
)

// Sweeps searches payment gateways for subscriptions that no notification named.
type Sweeps struct{ *base.Base }

// Search is what a sweep searches for.
type Search struct {
	// All is true if the search is for all subscriptions with future bills.
	All bool
	// From is the time since which created subscriptions are searched for, in any
	// status. Zero means none: subscriptions that ended before the tenant was
	// connected are not needed.
	From core.Time

	began core.Time
}

// Search returns what a sweep that begins now searches for.
func (ss *Sweeps) Search(task Task) Search {
	s := Search{began: ss.Now()}
	s.All = s.began >= task.Swept.All+SweepAllEvery
	if task.Swept.New != 0 {
		s.From = max(0, task.Swept.New-task.Connection.Kind.SearchOverlap())
	}
	return s
}

// SweepResult is what a sweep found: ids of subscriptions and payments, and notifications
// that the gateway has sent, or tried to send.
type SweepResult struct {
	Subscriptions, Payments []string
	Notifications           []SentNotification
}

// SentNotification is a notification that a gateway lists; see Notifications.Add.
type SentNotification struct{ Identity, Payload string }

// End ends a sweep. What it found and was unknown is stored, so that a worker reads it;
// found is the number of those.
func (ss *Sweeps) End(ctx context.Context, task Task, search Search, result SweepResult) (found int, err error) {
	lost, err := ss.addNotifications(ctx, task, result.Notifications)
	if err != nil {
		return 0, err
	}
	task.Swept.New = search.began
	if search.All {
		task.Swept.All = search.began
	}
	found, err = store.WriteValue(ctx, ss.DB.Write, ss.Now(), func(tx *store.Tx) (found int, err error) {
		if found, err = billingdb.AddSubscriptions(ctx, tx, task.Tenant, result.Subscriptions); err != nil {
			return found, err
		}
		payments, err := billingdb.AddPayments(ctx, tx, task.Tenant, result.Payments)
		if err != nil {
			return found, err
		}
		_, err = billingdb.End(ctx, tx, &billingdb.Sweeps, task.Task, billingdb.Ended{Next: tx.Now + SweepEvery})
		return found + payments + lost, err
	})
	if err == nil {
		ss.ReportWork(base.WorkGateway, billingdb.Sweeps.Name, base.OutcomeDone, 1)
		ss.ReportWork(base.WorkGateway, base.GatewayFound, base.OutcomeDone, int64(found))
	}
	return found, err
}

// sweepBatch is the number of notifications that one transaction stores at most.
const sweepBatch = 200

// addNotifications stores notifications that have not arrived, and returns their number.
func (ss *Sweeps) addNotifications(ctx context.Context, task Task, all []SentNotification) (lost int, err error) {
	for batch := range slices.Chunk(all, sweepBatch) {
		added, err := store.WriteValue(ctx, ss.DB.Write, ss.Now(), func(tx *store.Tx) (added int, err error) {
			for _, n := range batch {
				is, err := addNotification(ctx, tx, task.Tenant, task.Connection.Kind, n)
				if err != nil {
					return added, err
				}
				if is {
					added++
				}
			}
			return added, nil
		})
		if err != nil {
			return lost, err
		}
		lost += added
	}
	return lost, nil
}
