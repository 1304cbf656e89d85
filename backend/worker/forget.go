package worker

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"kith/backend/app/events"
	"kith/backend/app/members"
	"kith/backend/app/statistics"
	"kith/backend/app/users"
	"kith/backend/app/webhooks"
)

// forgetEvery is how often records that have become too old are removed.
const forgetEvery = time.Hour

// NewForget returns the worker that removes webhook deliveries, records of event calls, of
// refused ones and of batches of visits, sign-ins, entries of the audit log, kept answers and hashes of
// deleted accounts that are older than their retention time.
func NewForget(d *webhooks.Deliveries, ev *events.Events, a *statistics.Analytics, audits *members.Audits, erasures *users.Erasures, log *slog.Logger) *Worker {
	return newWorker("forget", forgetEvery, log, func(ctx context.Context) error {
		deliveries, err := d.Forget(ctx)
		calls, callsErr := ev.ForgetCalls(ctx)
		batches, batchesErr := a.ForgetBatches(ctx)
		portal, portalErr := audits.Forget(ctx)
		answers, answersErr := ev.ForgetAnswers(ctx)
		erased, erasedErr := erasures.ForgetErased(ctx)
		refused, refusedErr := ev.ForgetRefused(ctx)
		if deliveries+calls+batches+portal+answers+erased+refused > 0 {
			log.Info("old records removed", "webhook_rows", deliveries, "event_calls", calls, "visit_batches", batches, "portal_rows", portal, "kept_answers", answers, "deleted_accounts", erased, "refused_events", refused)
		}
		return errors.Join(err, callsErr, batchesErr, portalErr, answersErr, erasedErr, refusedErr)
	})
}
