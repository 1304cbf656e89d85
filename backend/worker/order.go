package worker

import (
	"context"
	"log/slog"
	"time"

	"kith/backend/app/orders"
)

// orderPoll is the longest delay until an event that another process stored is applied
// to its order, if that process does not apply it itself.
const orderPoll = time.Second

// orderPause is the pause between two transactions. Calls in this process queue for the
// write lock with the worker, but another process can only poll it.
const orderPause = 3 * time.Millisecond

// NewOrders returns the worker that applies events to the orders of referred accounts.
// Several may run on one database: the write lock admits one at a time.
func NewOrders(o *orders.Orders, log *slog.Logger) *Worker {
	return newWorker("orders", orderPoll, log, func(ctx context.Context) error {
		for {
			if more, err := o.Apply(ctx, log); err != nil || !more {
				return err
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(orderPause):
			}
		}
	})
}
