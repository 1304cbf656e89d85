package worker

import (
	"context"
	"log/slog"
	"time"

	"kith/backend/app/rewards"
	"kith/backend/app/users"
)

// settlePoll is the longest delay until the ledger records that a reward has started
// or expired, and webhooks report it. The reward's own state is always current.
const settlePoll = time.Second

// NewRewards returns the worker that records in the ledger that rewards have started
// or expired, and lets them follow the block of their owner. Several may run on one database: the write lock admits one at a time.
func NewRewards(r *rewards.Rewards, u *users.Users, log *slog.Logger) *Worker {
	return newWorker("rewards", settlePoll, log, func(ctx context.Context) error {
		for {
			settled, err := r.Settle(ctx)
			if err != nil {
				return err
			}
			followed, err := u.FollowBlocks(ctx)
			if err != nil || settled == 0 && !followed {
				return err
			}
		}
	})
}
