package sftp

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDropShare(t *testing.T) {
	t.Parallel()
	for pending, want := range map[int]float64{0: 0, 9: 0, 10: 0.3, 55: 0.65, 100: 1} {
		require.InDelta(t, want, dropShare(pending), 1e-9, pending)
	}
}

// An attacker who opens many connections from one address blocks no other address.
// From many addresses, the attacker can only cause random refusals, and a client that
// tries again is accepted.
func TestStartups(t *testing.T) {
	t.Parallel()
	s := newStartups()
	address := func(i int) netip.Prefix {
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 0, byte(i >> 8), byte(i)}), 32)
	}
	for range MaxPerAddress {
		require.True(t, s.enter(address(0), 0))
	}
	require.False(t, s.enter(address(0), 0.999), "the address has too many")
	for i := 1; s.pending < earlyDrop; i++ {
		require.True(t, s.enter(address(i), 0))
	}
	require.False(t, s.enter(address(1000), 0.29))
	require.True(t, s.enter(address(1000), 0.31))
	for i := 2000; s.pending < maxHandshakes; i++ {
		require.True(t, s.enter(address(i), 0.9999))
	}
	require.False(t, s.enter(address(1001), 0.9999), "at most maxHandshakes")
	s.leave(address(0))
	require.True(t, s.enter(address(0), 0.9999))
	for network, n := range s.of {
		for range n {
			s.leave(network)
		}
	}
	require.Equal(t, newStartups(), s, "connections that have left are not counted")
}
