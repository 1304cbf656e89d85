package worker

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"kith/backend/app/jobs"
)

const (
	// jobPoll is the longest delay until a job is seen that another process created,
	// or whose worker stopped without finishing it.
	jobPoll = time.Second
	// filePoll is how often old files are looked for.
	filePoll = 10 * time.Minute
)

// NewJobs returns a worker that runs up to slots jobs at once, those that have waited
// longest first. Several workers may run, in one process or in many: each job is
// leased to one of them. When the worker stops, it leaves its jobs at once; another
// worker continues them.
func NewJobs(js *jobs.Jobs, slots int, log *slog.Logger) *Worker {
	j := &jobWorker{jobs: js, slots: slots, log: log}
	w := newWorker("jobs", jobPoll, log, j.drain)
	w.last = j.last
	j.running = newPool[struct{}](w.Wake)
	return w
}

type jobWorker struct {
	jobs    *jobs.Jobs
	slots   int
	log     *slog.Logger
	running *pool[struct{}]
}

// drain takes a slot for each waiting job, until all slots are taken. A job counts as
// waiting until it is leased, so several slots may be taken for the same job; those
// that find it leased end without work.
func (j *jobWorker) drain(ctx context.Context) error {
	for {
		if _, taken := j.running.slots(); taken >= j.slots {
			return nil
		}
		waits, err := j.jobs.Waiting(ctx)
		if err != nil || !waits {
			return err
		}
		j.running.begin(struct{}{}, func(context.Context) {
			defer j.running.release(struct{}{})
			j.work(ctx)
		})
	}
}

func (j *jobWorker) work(ctx context.Context) {
	_, err := j.jobs.Work(ctx)
	switch {
	case errors.Is(err, jobs.ErrLeaseLost):
		j.log.Warn("job left: another worker has it, or it was deleted")
	case err != nil && ctx.Err() == nil:
		j.log.Error("job failed; trying again", "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// last waits until all jobs are left.
func (j *jobWorker) last(ctx context.Context) error {
	j.running.finish(ctx)
	return nil
}

// NewOldFiles returns the worker that removes files whose retention time is over.
func NewOldFiles(files *jobs.Files, log *slog.Logger) *Worker {
	w := newWorker("old files", filePoll, log, func(ctx context.Context) error {
		for {
			if more, err := files.RemoveOld(ctx); err != nil || !more {
				return err
			}
		}
	})
	w.stopsAtOnce = true
	return w
}
