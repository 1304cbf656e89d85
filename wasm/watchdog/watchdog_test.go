package watchdog

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/testenv/manualclock"
)

const deadline = 2 * time.Minute

func eventually(t *testing.T, is func() bool) {
	t.Helper()
	require.Eventually(t, is, deadline, time.Millisecond)
}

// bench is a watchdog whose time a test advances, and a server that answers health checks,
// fails them, or does not answer.
type bench struct {
	*Watchdog
	clk    *manualclock.Clock
	checks atomic.Int64
	// behave is called for each check.
	behave atomic.Pointer[func(context.Context) error]
}

const timeout = 500 * time.Millisecond

func answers(context.Context) error { return nil }
func fails(context.Context) error   { return errors.New("refused") }
func hangs(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func start(t *testing.T) *bench {
	b := &bench{clk: manualclock.New()}
	b.does(answers)
	b.Watchdog = New(Config{Name: "server", Timeout: timeout, Log: slog.New(slog.DiscardHandler), WithTimeout: b.clk.WithTimeout, Check: func(ctx context.Context) error {
		b.checks.Add(1)
		return (*b.behave.Load())(ctx)
	}})
	t.Cleanup(b.Close)
	return b
}

func (b *bench) does(f func(context.Context) error) { b.behave.Store(&f) }

// begin begins a call.
func (b *bench) begin(t *testing.T) (ctx context.Context, end func()) {
	t.Helper()
	ctx, end, err := b.Begin(t.Context())
	require.NoError(t, err)
	return ctx, end
}

// A call ends with ErrSilent when its server hangs, and later ones at once. When the server
// answers a check, calls are made again.
func TestWatchdog_ServerHangs(t *testing.T) {
	for name, behave := range map[string]func(context.Context) error{"hangs": hangs, "fails": fails} {
		t.Run(name, func(t *testing.T) {
			b := start(t)
			b.does(behave)
			ctx, end := b.begin(t)
			other, endOther := b.begin(t)
			b.clk.Pass(t, pause, 1)
			b.clk.Pass(t, pause, 1)
			for name == "hangs" && ctx.Err() == nil {
				if b.clk.Running(timeout) > 0 {
					b.clk.Advance(timeout)
				}
			}
			<-ctx.Done()
			<-other.Done()
			require.ErrorIs(t, context.Cause(ctx), ErrSilent)
			require.ErrorIs(t, context.Cause(other), ErrSilent)
			require.GreaterOrEqual(t, b.checks.Load(), int64(tries))
			end()
			endOther()
			_, _, err := b.Begin(t.Context())
			require.ErrorIs(t, err, ErrSilent)
			require.True(t, b.Away())
			b.does(answers)
			b.clk.AdvanceUntil(t, timeout, func() bool { return !b.Away() })
			ctx, end = b.begin(t)
			require.NoError(t, ctx.Err())
			end()
		})
	}
}

// A call that takes long is not ended while the server answers its checks, also when one
// check fails.
func TestWatchdog_CallTakesLong(t *testing.T) {
	b := start(t)
	b.does(func(context.Context) error {
		if b.checks.Load()%2 == 1 {
			return errors.New("lost")
		}
		return nil
	})
	ctx, end := b.begin(t)
	for range 20 {
		b.clk.Pass(t, pause, 1)
	}
	eventually(t, func() bool { return b.checks.Load() >= 10 })
	require.NoError(t, ctx.Err())
	end()
}

// Quick calls cause no checks, and without calls nothing is watched.
func TestWatchdog_QuickCalls(t *testing.T) {
	b := start(t)
	b.does(fails)
	for range 5 {
		_, end := b.begin(t)
		b.clk.Pass(t, pause, 1)
		eventually(t, func() bool { b.mu.Lock(); defer b.mu.Unlock(); return b.waiting.old == 1 })
		_, endNext := b.begin(t)
		end()
		endNext()
		end() // counts once
	}
	b.clk.Pass(t, pause, 1)
	eventually(t, func() bool { b.mu.Lock(); defer b.mu.Unlock(); return !b.watching })
	require.Zero(t, b.checks.Load())
	require.Zero(t, b.waiting.old+b.waiting.young)
}

// Close ends a watch and the calls that wait.
func TestWatchdog_Close(t *testing.T) {
	b := start(t)
	b.does(hangs)
	ctx, end := b.begin(t)
	defer end()
	b.clk.Pass(t, pause, 1)
	b.clk.Pass(t, pause, 1)
	b.Close()
	<-ctx.Done()
}
