package worker

import (
	"log/slog"
	"time"

	"kith/backend/app/statistics"
)

// countPoll is how often new counts are stored: one transaction for all reports
// between two ticks.
const countPoll = time.Second

// NewAnalytics returns the worker that stores the analytics events that this process
// has counted.
func NewAnalytics(a *statistics.Analytics, log *slog.Logger) *Worker {
	return newWorker("analytics", countPoll, log, a.Flush)
}
