package worker

import (
	"context"
	"maps"
	"sync"
)

// pool runs the tasks of a worker concurrently. Each task takes a slot under a key.
// The worker counts the taken slots, in total and by key, to decide which tasks to
// begin. When a task ends, the pool wakes the worker: it may begin another.
//
// Tasks do not use the context of the worker, so that they can end after a stop; see
// finish. A task that should end at once uses the worker's context instead.
type pool[K comparable] struct {
	wake func()
	// tasks is the context of all tasks. It is canceled when they are abandoned.
	tasks   context.Context
	abandon context.CancelFunc
	running sync.WaitGroup

	mu    sync.Mutex
	taken map[K]int
}

// newPool returns an empty pool; wake is called after each task.
func newPool[K comparable](wake func()) *pool[K] {
	p := &pool[K]{wake: wake, taken: map[K]int{}}
	p.tasks, p.abandon = context.WithCancel(context.Background()) // #nosec G118 -- finish calls it
	return p
}

// slots returns how many slots of each key are taken, and how many in total.
func (p *pool[K]) slots() (taken map[K]int, all int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range p.taken {
		all += n
	}
	return maps.Clone(p.taken), all
}

// begin takes a slot and runs a task. The slot stays taken when the task has ended,
// until it is released.
func (p *pool[K]) begin(key K, task func(context.Context)) {
	p.mu.Lock()
	p.taken[key]++
	p.mu.Unlock()
	p.running.Go(func() {
		defer p.wake()
		task(p.tasks)
	})
}

// release frees a slot that begin took.
func (p *pool[K]) release(key K) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken[key]--; p.taken[key] == 0 {
		delete(p.taken, key)
	}
}

// finish waits for the running tasks, and abandons those that have not ended when ctx
// is done. The work of an abandoned task is taken by another process, or by this one
// after its next start, once its lease has expired.
func (p *pool[K]) finish(ctx context.Context) {
	ended := make(chan struct{})
	go func() { p.running.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-ctx.Done():
	}
	p.abandon()
	<-ended
}
