package worker

import (
	"context"
	"log/slog"
	"time"

	"kith/backend/app/rewards"
)

// settlePoll is the longest delay until the ledger records that a reward has started
// or expired, and webhooks report it. The reward's own state is always current.
const settlePoll = time.Second

// NewRewards returns the worker that records in the ledger that rewards have started
// or expired. Several may run on one database: the write lock admits one at a time.
func NewRewards(r *rewards.Rewards, log *slog.Logger) *Worker {
	return newWorker("rewards", settlePoll, log, func(ctx context.Context) error {
		for {
			if settled, err := r.Settle(ctx); err != nil || settled == 0 {
				return err
			}
		}
	})
}
