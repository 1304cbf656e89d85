package worker

import (
	"context"
	"log/slog"
	"time"

	"kith/backend/app/rewards"
)

// settlePoll is how late the ledger, and with it the tenant's own systems, may
// learn that a date of a reward has passed. The reward itself is never late.
const settlePoll = time.Second

// NewRewards returns the worker that writes into the ledger what dates have done
// to rewards: given them, or ended them. Several may run on one database: the
// write lock makes them take turns.
func NewRewards(r *rewards.Rewards, log *slog.Logger) *Worker {
	return newWorker("rewards", settlePoll, log, func(ctx context.Context) error {
		for {
			if settled, err := r.Settle(ctx); err != nil || settled == 0 {
				return err
			}
		}
	})
}
