package worker

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// A slot is taken from the beginning of a task until it is released, and the worker
// is woken when the task has ended.
func TestPool_Slots(t *testing.T) {
	t.Parallel()
	woken := make(chan struct{}, 3)
	p := newPool[string](func() { woken <- struct{}{} })
	end := make(chan struct{})
	for _, key := range []string{"a", "a", "b"} {
		p.begin(key, func(context.Context) { <-end })
	}
	taken, all := p.slots()
	require.Equal(t, map[string]int{"a": 2, "b": 1}, taken)
	require.Equal(t, 3, all)
	require.Empty(t, woken)

	close(end)
	for range 3 {
		<-woken
	}
	p.release("a")
	p.release("b")
	taken, all = p.slots()
	require.Equal(t, map[string]int{"a": 1}, taken)
	require.Equal(t, 1, all)
}

// finish waits for tasks until its context is done, and then abandons them.
func TestPool_Finish(t *testing.T) {
	t.Parallel()
	p := newPool[string](func() {})
	end, ended := make(chan struct{}), false
	p.begin("ends", func(ctx context.Context) { <-end; ended = ctx.Err() == nil })
	close(end)
	p.finish(t.Context())
	require.True(t, ended)

	p = newPool[string](func() {})
	abandoned := false
	p.begin("waits", func(ctx context.Context) { <-ctx.Done(); abandoned = true })
	over, cancel := context.WithCancel(t.Context())
	cancel()
	p.finish(over)
	require.True(t, abandoned)
}
