package guess

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLimiter_ByNetwork(t *testing.T) {
	now := time.UnixMilli(60_000 * 1000)
	for _, row := range []struct {
		name, one, other string
		together         bool
	}{
		{"IPv4 /24", "203.0.113.9", "203.0.113.200", true},
		{"another /24", "203.0.113.9", "203.0.114.9", false},
		{"IPv6 /56", "2001:db8:0:1100::1", "2001:db8:0:11ff:1::1", true},
		{"another /56", "2001:db8:0:1100::1", "2001:db8:0:1200::1", false},
		{"IPv4 in the form of IPv6", "203.0.113.9", "::ffff:203.0.113.8", true},
	} {
		l := New(3, func() time.Time { return now })
		one, other := netip.MustParseAddr(row.one), netip.MustParseAddr(row.other)
		for range 3 {
			require.False(t, l.Exhausted(one), row.name)
			require.False(t, l.Count(one, 1), row.name)
		}
		require.True(t, l.Exhausted(one), row.name)
		require.True(t, l.Count(one, 1), row.name)
		require.Equal(t, row.together, l.Exhausted(other), row.name)
	}
}

func TestLimiter_SlidingWindow(t *testing.T) {
	now := time.UnixMilli(60_000 * 1000)
	l := New(100, func() time.Time { return now })
	a := netip.MustParseAddr("203.0.113.9")
	require.True(t, l.Count(a, 1000), "many at once")
	require.True(t, l.Exhausted(a))
	now = now.Add(time.Minute)
	require.True(t, l.Exhausted(a), "the minute has only just ended")
	now = now.Add(30 * time.Second)
	require.False(t, l.Exhausted(a), "half of the previous minute still counts")
	require.False(t, l.Count(a, 50))
	require.True(t, l.Count(a, 1))
	now = now.Add(5 * time.Minute)
	require.False(t, l.Count(a, 100))
}

func TestLimiter_IsBounded(t *testing.T) {
	now := time.UnixMilli(60_000 * 1000)
	l := New(1, func() time.Time { return now })
	for i := range maxNetworks + 10 {
		l.Count(netip.AddrFrom4([4]byte{11 + byte(i>>16), byte(i >> 8), byte(i), 1}), 1)
	}
	require.Len(t, l.attempts.current, maxNetworks)
}

func TestLimiter_AddressesThatAreNotCounted(t *testing.T) {
	l := New(1, time.Now)
	for _, text := range []string{"127.0.0.1", "::1", "10.0.0.1", "192.168.1.1", "fd00::1", "fe80::1", "0.0.0.0"} {
		require.False(t, l.Count(netip.MustParseAddr(text), 10), text)
	}
	require.False(t, l.Count(netip.Addr{}, 10))
	require.False(t, New(0, time.Now).Count(netip.MustParseAddr("203.0.113.9"), 10))
}
