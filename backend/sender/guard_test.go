package sender

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

// notPublic has every form of address through which an endpoint could reach a private
// network. The metadata addresses of clouds are listed separately.
var notPublic = map[string][]string{
	"unspecified":          {"0.0.0.0", "0.1.2.3", "::"},
	"loopback":             {"127.0.0.1", "127.255.255.254", "::1"},
	"private":              {"10.0.0.0", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "192.168.255.255", "fc00::1", "fdff::1"},
	"link-local":           {"169.254.0.1", "169.254.255.255", "fe80::1", "febf::1", "fe80::1%eth0"},
	"metadata":             {"169.254.169.254", "169.254.170.2", "168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254"},
	"carrier-grade NAT":    {"100.64.0.0", "100.127.255.255"},
	"protocol assignments": {"192.0.0.1", "192.0.0.170", "2001::1", "2001:1ff::1"},
	"documentation":        {"192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "3fff::1"},
	"benchmarks":           {"198.18.0.1", "198.19.255.255", "2001:2::1"},
	"multicast":            {"224.0.0.1", "239.255.255.255", "ff02::1"},
	"reserved":             {"240.0.0.1", "255.255.255.254", "4000::1", "8000::1", "fec0::1", "100::1"},
	"broadcast":            {"255.255.255.255"},
	"IPv4-mapped":          {"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:0.0.0.0"},
	"IPv4-compatible":      {"::127.0.0.1", "::10.0.0.1", "::8.8.8.8"},
	"IPv4-translated":      {"::ffff:0:127.0.0.1", "::ffff:0:8.8.8.8"},
	"NAT64":                {"64:ff9b::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b::169.254.169.254", "64:ff9b::0.0.0.0", "64:ff9b:1::8.8.8.8"},
	"6to4":                 {"2002:7f00:1::1", "2002:a00:1::1", "2002:808:808::1", "192.88.99.1"},
	"Teredo":               {"2001:0:7f00:1::1", "2001:0:808:808::1"},
}

func TestGuard_RefusesPrivateAddresses(t *testing.T) {
	for form, addresses := range notPublic {
		for _, text := range addresses {
			require.False(t, guard(nil).allows(netip.MustParseAddr(text)), "%s: %s", form, text)
		}
	}
}

func TestGuard_AllowsPublicAddresses(t *testing.T) {
	for _, text := range []string{
		"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
		"169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255", "192.169.0.0",
		"198.17.255.255", "198.20.0.0", "223.255.255.255",
		"2606:4700:4700::1111", "2001:200::1", "2001:4860:4860::8888", "2a00::1", "3ffe::1",
		"::ffff:8.8.8.8", "64:ff9b::8.8.8.8",
	} {
		require.True(t, guard(nil).allows(netip.MustParseAddr(text)), text)
	}
}

func TestGuard_AllowedPrefixes(t *testing.T) {
	g, err := newGuard([]string{"127.0.0.0/8", "10.1.2.3/32", "::1/128"})
	require.NoError(t, err)
	for text, want := range map[string]bool{
		"127.0.0.1": true, "127.9.9.9": true, "::ffff:127.0.0.1": true, "10.1.2.3": true, "::1": true, "8.8.8.8": true,
		"10.1.2.4": false, "::2": false, "169.254.169.254": false, "fe80::1": false, "::1%lo": false,
	} {
		require.Equal(t, want, g.allows(netip.MustParseAddr(text)), text)
	}
	_, err = newGuard([]string{"127.0.0.1"})
	require.Error(t, err, "an address is not a prefix")
}

// control gets the address that the system is about to connect to; it refuses an
// address that it cannot parse.
func TestGuard_Control(t *testing.T) {
	for address, want := range map[string]bool{
		"8.8.8.8:443": true, "[2606:4700:4700::1111]:443": true, "[::ffff:8.8.8.8]:443": true,
		"127.0.0.1:443": false, "[::1]:443": false, "localhost:443": false, "8.8.8.8": false, "/var/run/docker.sock": false, "": false,
	} {
		require.Equal(t, want, guard(nil).control(t.Context(), "tcp", address, nil) == nil, address)
	}
}

// No address that the standard library calls special is public, and embedding an IPv4
// address in IPv6 does not make it public.
func FuzzGuard(f *testing.F) {
	for _, addresses := range notPublic {
		for _, text := range addresses {
			f.Add(netip.MustParseAddr(text).AsSlice())
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		a, ok := netip.AddrFromSlice(raw)
		if !ok {
			return
		}
		special := a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast() || a.IsMulticast() || a.IsUnspecified() ||
			a.IsInterfaceLocalMulticast() || a.Unmap().IsLoopback() || a.Unmap().IsPrivate() || a.Unmap().IsLinkLocalUnicast()
		allowed := guard(nil).allows(a)
		require.False(t, allowed && special, a)
		if !a.Is4() {
			return
		}
		v4 := a.As4()
		mapped := netip.AddrFrom16(a.As16())
		require.Equal(t, allowed, guard(nil).allows(mapped), mapped)
		for _, prefix := range [][]byte{
			{0x00, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
			{0x20, 0x02, v4[0], v4[1], v4[2], v4[3], 0, 0, 0, 0, 0, 0},
		} {
			inside, _ := netip.AddrFromSlice(append(prefix, v4[:]...))
			require.False(t, guard(nil).allows(inside) && !allowed, inside)
		}
	})
}
