package worker

import (
	"log/slog"
	"time"

	"kith/backend/app/statistics"
	"kith/backend/app/visits"
)

// countPoll is how often new counts are stored: one transaction for all reports
// between two ticks, and one statement for all followed share links. A process that is
// killed loses what it has counted since.
const countPoll = time.Second

// NewAnalytics returns the worker that stores the analytics events that this process
// has counted.
func NewAnalytics(a *statistics.Analytics, log *slog.Logger) *Worker {
	return newWorker("analytics", countPoll, log, a.Flush)
}

// NewVisits returns the worker that stores the followed share links that this process
// has counted.
func NewVisits(c *visits.Counter, log *slog.Logger) *Worker {
	w := newWorker("visits", countPoll, log, c.Tick)
	w.last = c.Stop
	return w
}
