package worker

import (
	"context"
	"log/slog"
	"time"

	"kith/backend/app"
)

// countPoll is how often what was counted is stored: one transaction for all
// reports between two ticks.
const countPoll = time.Second

// NewAnalytics returns the worker that stores what the engine of this process
// counted.
func NewAnalytics(e *app.Engine, log *slog.Logger) *Worker {
	return newWorker("analytics", countPoll, log, func(ctx context.Context) error { return e.Analytics.Flush(ctx) })
}
