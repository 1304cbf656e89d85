package webhook

import (
	"net/netip"
	"strings"
)

// publicHost reports whether the host of a URL may be public: it is a public address,
// or a name other than localhost and those below it. What a name resolves to is
// checked when something is sent there.
func publicHost(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if a, err := netip.ParseAddr(host); err == nil {
		return Public(a)
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	return last != "localhost" && !isNumber(last)
}

// isNumber reports whether the last label of a host makes it an IPv4 address to some
// resolvers, as in 127.1, 2130706433 and 0x7f000001. No name of the internet ends so.
func isNumber(label string) bool {
	digits := "0123456789"
	if hex, found := strings.CutPrefix(label, "0x"); found {
		label, digits = hex, "0123456789abcdef"
	}
	return strings.Trim(label, digits) == ""
}

// Public reports whether an address is on the public internet. IPv4 has a list
// of what is not; IPv6 has one block that is, with holes. An address with a zone is
// not public.
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

// The IANA special-purpose address registries, as of 2026. They are made when they are
// asked for: as variables they would be in the component too, which asks never.
func special4() []netip.Prefix {
	return prefixes(
		"0.0.0.0/8",        // this host
		"10.0.0.0/8",       // private
		"100.64.0.0/10",    // carrier-grade NAT
		"127.0.0.0/8",      // loopback
		"169.254.0.0/16",   // link-local, and the metadata of clouds
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
		"168.63.129.16/32", // not special to IANA: the host agent of a cloud
	)
}

func global6() []netip.Prefix { return prefixes("2000::/3") }

func special6() []netip.Prefix {
	return prefixes(
		"2001::/23",     // protocol assignments, among them Teredo, which holds an IPv4 address
		"2001:db8::/32", // documentation
		"2002::/16",     // 6to4, which holds an IPv4 address
		"3fff::/20",     // documentation
	)
}

// nat64 leads to the IPv4 address that it ends in. Where there is no other way to
// IPv4, it must be let through.
func nat64() []netip.Prefix { return prefixes("64:ff9b::/96") }

func prefixes(texts ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		all[i] = netip.MustParsePrefix(text)
	}
	return all
}
