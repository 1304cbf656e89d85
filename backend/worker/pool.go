package worker

import (
	"context"
	"maps"
	"sync"
)

// pool runs tasks side by side for a worker. A task takes a slot of some key, and
// the worker decides by the slots that are taken, in all and of a key, which tasks
// it begins. When a task has ended, the worker is woken: it may begin another.
//
// Tasks outlive the context of the worker, so that a stop lets them end; see
// finish. A task that is to end at once uses the worker's context instead.
type pool[K comparable] struct {
	wake func()
	// tasks is the context of tasks, and is done once they are abandoned.
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

// slots returns how many slots of each key are taken, and how many in all.
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

// finish waits for the tasks that run, and abandons those that do not end by the
// time that ctx is done. What those left undone is leased for a while, and then done
// by whichever process is there.
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
