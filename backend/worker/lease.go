package worker

import (
	"context"
	"log/slog"

	"kith/backend/app/leases"
)

// NewLeases returns the worker that shows others that this process runs, and that releases
// the work of processes that stopped; wake is then called. It must be stopped after the
// workers that lease work: it then releases their leases.
func NewLeases(ls *leases.Leases, log *slog.Logger, wake func()) *Worker {
	w := newWorker("leases", ls.Every(), log, func(ctx context.Context) error {
		released, err := ls.Beat(ctx)
		if released > 0 {
			log.Warn("took over the work of a process that stopped", "leases", released)
			wake()
		}
		return err
	})
	w.last = ls.Leave
	return w
}
