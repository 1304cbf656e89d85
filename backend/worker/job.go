package worker

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"kith/backend/app"
)

const (
	// jobPoll is how soon a job of another process is seen, and one that its
	// worker died over.
	jobPoll = time.Second
	// filePoll is how often old files are looked for.
	filePoll = 10 * time.Minute
)

// NewJobs returns a worker that does jobs, one at a time, of whatever tenant
// waits longest. Several may run, in one process or in many: a job is claimed by
// one of them, with a lease.
func NewJobs(engine *app.Engine, log *slog.Logger) *Worker {
	w := newWorker("jobs", jobPoll, log, func(ctx context.Context) error {
		for {
			did, err := engine.WorkJob(ctx)
			if errors.Is(err, app.ErrJobLost) {
				log.Warn("a job outlived its lease, or was deleted; this worker has left it")
				continue
			}
			if err != nil || !did {
				return err
			}
		}
	})
	w.leaves = true
	return w
}

// NewOldFiles returns the worker that removes files that were kept long enough.
func NewOldFiles(engine *app.Engine, log *slog.Logger) *Worker {
	w := newWorker("old files", filePoll, log, func(ctx context.Context) error {
		for {
			if more, err := engine.RemoveOldFiles(ctx); err != nil || !more {
				return err
			}
		}
	})
	w.leaves = true
	return w
}
