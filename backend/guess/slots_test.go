package guess

import (
	"context"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

var (
	one     = netip.MustParseAddr("203.0.113.9")
	two     = netip.MustParseAddr("198.51.100.9")
	three   = netip.MustParseAddr("2001:db8::1")
	private = netip.MustParseAddr("10.0.0.1")
)

// The networks take turns, and a call of the network that sends most waits for its own.
func TestSlots_NetworksTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSlots(1, 10, 10)
		leave, err := s.Enter(t.Context(), one)
		require.NoError(t, err)
		var order []string
		for _, call := range []struct {
			name string
			from netip.Addr
		}{{"one", one}, {"one again", one}, {"one more", one}, {"two", two}, {"three", three}, {"two again", two}} {
			go func() {
				leave, err := s.Enter(t.Context(), call.from)
				if err == nil {
					order = append(order, call.name)
					leave()
				}
			}()
			synctest.Wait()
		}
		leave()
		synctest.Wait()
		require.Equal(t, []string{"one", "two", "three", "one again", "two again", "one more"}, order)
		require.Equal(t, []any{1, 0, 0, 0}, []any{s.free, s.waiting, len(s.queues), len(s.turns)})
	})
}

// A call that finds too many others is refused at once, and one that does not wait any more
// leaves its place.
func TestSlots_Full(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSlots(1, 3, 2)
		leave, err := s.Enter(t.Context(), one)
		require.NoError(t, err)
		ctx, end := context.WithCancel(t.Context())
		var ended atomic.Int64
		wait := func(from netip.Addr) {
			go func() {
				if _, err := s.Enter(ctx, from); err != nil {
					ended.Add(1)
				}
			}()
			synctest.Wait()
		}
		wait(one)
		wait(netip.MustParseAddr("203.0.113.200"))
		_, err = s.Enter(t.Context(), one)
		require.ErrorIs(t, err, ErrFull, "the share of a network")
		wait(two)
		_, err = s.Enter(t.Context(), three)
		require.ErrorIs(t, err, ErrFull, "all places")
		end()
		synctest.Wait()
		require.EqualValues(t, 3, ended.Load())
		_, err = s.Enter(ctx, two)
		require.ErrorIs(t, err, context.Canceled)
		ctx, end = context.WithCancel(t.Context())
		for range 3 {
			wait(private)
		}
		_, err = s.Enter(t.Context(), private)
		require.ErrorIs(t, err, ErrFull, "an address that many clients may share has all places")
		end()
		synctest.Wait()
		leave()
		require.Equal(t, []any{1, 0, 0, 0}, []any{s.free, s.waiting, len(s.queues), len(s.turns)})
	})
}

// No slot is lost or given twice, however calls come, wait, are refused and end.
func TestSlots_Race(t *testing.T) {
	t.Parallel()
	s := NewSlots(2, 6, 3)
	var running, worst atomic.Int64
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			for n := range 2000 {
				ctx, end := context.WithCancel(t.Context())
				if n%3 == 0 {
					go end()
				}
				leave, err := s.Enter(ctx, []netip.Addr{one, two, three, private}[i%4])
				if err == nil {
					if now := running.Add(1); now > worst.Load() {
						worst.Store(now)
					}
					running.Add(-1)
					leave()
				}
				end()
			}
		})
	}
	all.Wait()
	require.LessOrEqual(t, worst.Load(), int64(2))
	require.Equal(t, []any{2, 0, 0, 0}, []any{s.free, s.waiting, len(s.queues), len(s.turns)})
}
