package ready_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/app/ready"
)

// 200 callers at once cause one run, and those within the next second none.
func TestCheck_IsCached(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int64
		c := ready.Check{Do: func(context.Context) error {
			runs.Add(1)
			time.Sleep(20 * time.Millisecond)
			return errors.New("away")
		}}
		var all sync.WaitGroup
		for range 200 {
			all.Go(func() { require.ErrorContains(t, c.Err(t.Context()), "away") })
		}
		all.Wait()
		require.ErrorContains(t, c.Err(t.Context()), "away")
		require.EqualValues(t, 1, runs.Load())
	})
}

// A part that hangs is checked once, callers wait for at most 1.5 s, those after that
// not at all, and the result of the run counts when it ends.
func TestCheck_Hangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int64
		release := make(chan struct{})
		c := ready.Check{Hangs: errors.New("no answer"), Do: func(context.Context) error {
			runs.Add(1)
			<-release
			return nil
		}}
		begin := time.Now()
		for range 2 {
			require.ErrorContains(t, c.Err(t.Context()), "no answer")
			require.Equal(t, 1500*time.Millisecond, time.Since(begin))
		}
		require.EqualValues(t, 1, runs.Load())
		close(release)
		synctest.Wait()
		require.NoError(t, c.Err(t.Context()))
	})
}

// While a run takes longer than usual, callers get the result of the run before within
// 300 ms; when it hangs, they get that.
func TestCheck_SlowRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		slow := false
		c := ready.Check{Hangs: errors.New("no answer"), Do: func(context.Context) error {
			if slow {
				<-release
			}
			return nil
		}}
		require.NoError(t, c.Err(t.Context()))
		slow = true
		time.Sleep(time.Second)
		begin := time.Now()
		require.NoError(t, c.Err(t.Context()), "the result of the first run")
		require.Equal(t, 300*time.Millisecond, time.Since(begin))
		time.Sleep(1200 * time.Millisecond)
		require.ErrorContains(t, c.Err(t.Context()), "no answer")
		require.Equal(t, 1500*time.Millisecond, time.Since(begin))
		close(release)
		synctest.Wait()
		require.NoError(t, c.Err(t.Context()))
	})
}
