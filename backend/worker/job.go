package worker

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"kith/backend/app/jobs"
	"kith/backend/store/jobdb"
)

const (
	// jobPoll is how soon a job of another process is seen, and one that its
	// worker died over.
	jobPoll = time.Second
	// filePoll is how often old files are looked for.
	filePoll = 10 * time.Minute
)

// NewJobs returns a worker that does up to slots jobs at once, of whatever tenants
// wait longest. Several may run, in one process or in many: a job is claimed by
// one of them, with a lease. A job is left at once when the worker is told to stop.
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

// drain takes a slot for each job that waits, until all slots are taken. A job waits
// until it is claimed, so that several slots may be taken for one: those that come
// too late for it end without work.
func (j *jobWorker) drain(ctx context.Context) error {
	for {
		if _, taken := j.running.slots(); taken >= j.slots {
			return nil
		}
		waits, err := jobdb.JobWaits(ctx, j.jobs.DB.Reads, j.jobs.Now())
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
	case errors.Is(err, jobs.ErrLost):
		j.log.Warn("a job outlived its lease, or was deleted; this worker has left it")
	case err != nil && ctx.Err() == nil:
		j.log.Error("a job was left; trying again", "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// last waits for jobs to be left.
func (j *jobWorker) last(ctx context.Context) error {
	j.running.finish(ctx)
	return nil
}

// NewOldFiles returns the worker that removes files that were kept long enough.
func NewOldFiles(files *jobs.Files, log *slog.Logger) *Worker {
	w := newWorker("old files", filePoll, log, func(ctx context.Context) error {
		for {
			if more, err := files.RemoveOld(ctx); err != nil || !more {
				return err
			}
		}
	})
	w.leaves = true
	return w
}
