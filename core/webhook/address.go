package webhook

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Barred reports whether each delivery to the endpoint fails, because its host is not public
// and in none of the allowed prefixes. A name that is not public is this machine.
func (e Endpoint) Barred(allowed []string) bool {
	u, err := url.Parse(string(e))
	if err != nil || publicHost(u.Hostname()) {
		return false
	}
	a, err := netip.ParseAddr(u.Hostname())
	hosts := []netip.Addr{a}
	if err != nil {
		hosts = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
	}
	all := prefixes(allowed...)
	return !slices.ContainsFunc(hosts, func(a netip.Addr) bool { return within(a.Unmap(), all) })
}

// publicHost reports whether the host of a URL may be public: it is a public address,
// or a name other than localhost and its subdomains. The sender checks the addresses
// of a name when it connects.
func publicHost(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if a, err := netip.ParseAddr(host); err == nil {
		return Public(a)
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	return last != "localhost" && !isNumber(last)
}

// isNumber reports whether some resolvers would read a host with this last label as
// an IPv4 address, as in 127.1, 2130706433 and 0x7f000001. No public domain ends with
// a number.
func isNumber(label string) bool {
	digits := "0123456789"
	if hex, found := strings.CutPrefix(label, "0x"); found {
		label, digits = hex, "0123456789abcdef"
	}
	return strings.Trim(label, digits) == ""
}

// Public reports whether an address is on the public internet. For IPv4 it must be
// outside the special ranges; for IPv6 it must be global unicast and outside the
// special ranges. An address with a zone is not public.
func Public(a netip.Addr) bool {
	if a = a.Unmap(); a.Is4() {
		return !within(a, special4())
	}
	if within(a, nat64()) {
		b := a.As16()
		return Public(netip.AddrFrom4([4]byte(b[12:])))
	}
	return a.Zone() == "" && within(a, global6()) && !within(a, special6())
}

func within(a netip.Addr, prefixes []netip.Prefix) bool {
	for _, p := range prefixes {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// The IANA special-purpose address registries, as of 2026. These are functions,
// because variables would be linked into the component, which does not need them.
func special4() []netip.Prefix {
	return prefixes(
		"0.0.0.0/8",        // this host
		"10.0.0.0/8",       // private
		"100.64.0.0/10",    // carrier-grade NAT
		"127.0.0.0/8",      // loopback
		"169.254.0.0/16",   // link-local, and cloud metadata services
		"172.16.0.0/12",    // private
		"192.0.0.0/24",     // protocol assignments
		"192.0.2.0/24",     // documentation
		"192.88.99.0/24",   // 6to4 relays
		"192.168.0.0/16",   // private
		"198.18.0.0/15",    // benchmarks
		"198.51.100.0/24",  // documentation
		"203.0.113.0/24",   // documentation
		"224.0.0.0/4",      // multicast
		"240.0.0.0/4",      // reserved, and broadcast
		"168.63.129.16/32", // not in the IANA registry: the host agent of a cloud
	)
}

func global6() []netip.Prefix { return prefixes("2000::/3") }

func special6() []netip.Prefix {
	return prefixes(
		"2001::/23",     // protocol assignments, including Teredo, which contains an IPv4 address
		"2001:db8::/32", // documentation
		"2002::/16",     // 6to4, which contains an IPv4 address
		"3fff::/20",     // documentation
	)
}

// nat64 is the range for IPv4 addresses behind NAT64. It must be allowed, because
// IPv6-only networks reach IPv4 through it.
func nat64() []netip.Prefix { return prefixes("64:ff9b::/96") }

func prefixes(texts ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		all[i] = netip.MustParsePrefix(text)
	}
	return all
}
