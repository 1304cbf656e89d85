package eventdb

import (
	"context"
	"errors"
	"sync"
	"time"

	"kith/backend/store"
	"kith/core"
	"kith/core/event"
)

// Appends appends the event calls of many callers to the intake. Calls that arrive while a
// transaction runs share the next one, since a commit costs much more than a row: on a server
// three round trips, and each replica copies every page that changed. The zero value is ready
// for use.
type Appends struct {
	mu      sync.Mutex
	waiting []*waitingCall
	running bool
}

// waitingCall is an event call and its waiting caller. added and err are set before done is
// closed.
type waitingCall struct {
	ctx   context.Context
	args  []any // of event.Append
	size  int   // of the texts among them, in bytes
	at    core.Time
	done  chan struct{}
	added bool
	err   error
}

const (
	// maxGroup limits the calls of one transaction; maxBatch limits their events.
	maxGroup = 128
	// groupTimeout limits a transaction, whose callers may all have given up. It is longer than
	// a transaction takes to begin and to commit, which have limits of their own.
	groupTimeout = 2 * time.Minute
)

// Append is AppendIntake, in one transaction with other calls. If ctx ends before that has
// ended, the call may or may not be stored.
func (a *Appends) Append(ctx context.Context, p *store.Primary, tenant core.TenantAlias, b event.Call) (added bool, err error) {
	one := &waitingCall{ctx: ctx, args: appendArgs(tenant, b), at: b.Received, done: make(chan struct{})}
	for _, arg := range one.args {
		if text, ok := arg.(string); ok {
			one.size += len(text)
		}
	}
	a.mu.Lock()
	a.waiting = append(a.waiting, one)
	if !a.running {
		a.running = true
		go a.run(p)
	}
	a.mu.Unlock()
	select {
	case <-one.done:
		return one.added, one.err
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// run appends calls until none waits.
func (a *Appends) run(p *store.Primary) {
	for {
		group, more := a.next()
		if !more {
			return
		}
		if len(group) > 1 {
			group = appendTogether(p, group)
		}
		for _, one := range group {
			one.added, one.err = appendAlone(one.ctx, p, one.args)
			close(one.done)
		}
	}
}

// next returns the next calls whose callers still wait; more is false if there were none, and
// run must end.
func (a *Appends) next() (group []*waitingCall, more bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.running = len(a.waiting) > 0
	for size := 0; len(a.waiting) > 0 && len(group) < maxGroup && size <= maxBatch; a.waiting = a.waiting[1:] {
		if one := a.waiting[0]; one.ctx.Err() == nil {
			group, size = append(group, one), size+one.size
		}
	}
	return group, a.running
}

// notAppended is the error of a statement that appends a call: nothing of its transaction is
// stored.
type notAppended struct{ error }

func (e notAppended) Unwrap() error { return e.error }

// appendTogether appends calls in one transaction. If a statement fails, it returns the calls,
// of which none is stored: then each runs alone, so that only the wrong one fails.
func appendTogether(p *store.Primary, group []*waitingCall) (again []*waitingCall) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(group[0].ctx), groupTimeout)
	defer cancel()
	added, err := store.WriteValue(ctx, p.Write, group[0].at, func(tx *store.Tx) (added []bool, err error) {
		changed := make([]func() (int, error), len(group))
		for i, one := range group {
			if changed[i], err = tx.Later(ctx, "append intake", event.Append, one.args...); err != nil {
				return nil, notAppended{err}
			}
		}
		for _, rows := range changed {
			n, err := rows()
			if err != nil {
				return nil, notAppended{err}
			}
			added = append(added, n > 0)
		}
		return added, nil
	})
	if errors.As(err, new(notAppended)) && !store.IsUnavailable(err) {
		return group
	}
	for i, one := range group {
		if one.err = err; err == nil {
			one.added = added[i]
		}
		close(one.done)
	}
	return nil
}
