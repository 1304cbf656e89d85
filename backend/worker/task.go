package worker

import (
	"context"
	"errors"
	"time"

	"kith/backend/app/payments"
	"kith/backend/gateway"
	"kith/backend/store/billingdb"
	"kith/core"
)

// kind is a kind of tasks at gateways.
type kind struct {
	*billingdb.Kind
	// names is what the ID of a task is in the log.
	names string
	// parks is true if a task whose object the gateway does not have is not tried again after
	// missingTries, until something makes it due. Others are tried again for ever.
	parks bool
	// slow is the delay after a failure that repeating alone will not mend, or 0 for that of
	// after.
	slow core.Time
	// do does a task. What it changes in the Promotion is stored with the result. An error other
	// than errLate is a failure of the task.
	do func(context.Context, *gateways, gateway.Gateway, *payments.Task) (payments.Result, error)
}

// errLate means that another worker has leased a task meanwhile, which that one ends.
var errLate = errors.New("job: another worker has leased the task")

// run does a task and stores its end. If the process stops meanwhile, its leases are released, and
// the task is due again.
func (g *gateways) run(ctx context.Context, k *kind, task payments.Task) {
	r := payments.Result{}
	client, err := g.client(task.Tenant, task.Access)
	if err == nil {
		r, err = k.do(ctx, g, client, &task)
	}
	if ctx.Err() != nil || errors.Is(err, errLate) {
		return
	}
	log := g.log.With("tenant", task.Tenant, k.names, task.ID)
	if err != nil {
		r = payments.Result{Problem: err.Error(), Failed: true}
		if !k.parks || task.Tries < missingTries || !gateway.Is(err, gateway.Missing) {
			r.After = after(err, task.Tries)
			if k.slow != 0 && gateway.ActionOf(err) != gateway.Retry {
				r.After = k.slow
			}
			log.Warn("gateway", "error", err)
		}
	}
	if err := endTask(ctx, func() error { return g.engine.Gateways.End(ctx, k.Kind, task, r) }); err != nil {
		// The task is taken again when its lease was released as stale.
		log.Error("gateway", "error", err)
	}
}

// endTries is how often the end of a task is tried to be stored, and endPause the pause
// after each try.
const (
	endTries = 60
	endPause = time.Second
)

// endTask stores the end of a task. It tries again while the database does not answer: the
// lease of a process that runs is released only after minutes, and the task would wait for
// that.
func endTask(ctx context.Context, end func() error) (err error) {
	for range endTries {
		if err = end(); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(endPause):
		}
	}
	return err
}

// missingTries is how often an object that the gateway does not have is requested
// again, at intervals of an hour.
const missingTries = 3

// Bounds of the delay before a failed task is tried again.
const (
	firstDelay = core.Minute
	maxDelay   = core.Hour
)

// after returns the delay before a failed task is tried again: longer with every
// failure, and at least as long as the gateway asks for.
func after(err error, tries int) core.Time {
	delay := min(firstDelay<<min(tries, 10), maxDelay)
	if e, ok := errors.AsType[*gateway.Error](err); ok {
		switch e.Action {
		case gateway.Missing, gateway.SetUp, gateway.Alert:
			delay = maxDelay
		}
		delay = max(delay, core.Time(e.RetryAfter.Milliseconds()))
	}
	return delay
}
