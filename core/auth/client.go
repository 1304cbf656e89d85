package auth

import (
	"net/netip"
	"strings"

	"kith/core"
)

// Networks is a set of IP networks. The zero value is empty.
type Networks []netip.Prefix

// ParseNetworks parses CIDR networks and addresses, separated by commas or blanks,
// such as "10.0.0.0/8, 2001:db8::/32, 192.0.2.7".
func ParseNetworks(field, text string) (Networks, error) {
	var all Networks
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		network, err := netip.ParsePrefix(word)
		if err != nil {
			addr, addrErr := netip.ParseAddr(word)
			if addrErr != nil || addr.Zone() != "" {
				return nil, core.Invalid(field, "must be networks such as 10.0.0.0/8 or addresses, separated by commas; "+word+" is neither")
			}
			network = netip.PrefixFrom(addr, addr.BitLen())
		}
		if network.Addr().Is4In6() {
			return nil, core.Invalid(field, "must not have IPv4 networks in the form of IPv6, as in "+word)
		}
		all = append(all, network.Masked())
	}
	return all, nil
}

// Contain reports whether an address is in one of the networks.
func (n Networks) Contain(a netip.Addr) bool {
	for _, network := range n {
		if network.Contains(a) {
			return true
		}
	}
	return false
}

// String returns the networks in the form that ParseNetworks accepts.
func (n Networks) String() string {
	words := make([]string, len(n))
	for i, network := range n {
		words[i] = network.String()
	}
	return strings.Join(words, ",")
}

// ParseAddress parses an IP address with or without a port or brackets. It returns
// IPv4 in the form of IPv6 as IPv4, and drops a zone.
func ParseAddress(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	withPort, err := netip.ParseAddrPort(text) // first: most are peers of connections
	addr := withPort.Addr()
	if err != nil {
		if addr, err = netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")); err != nil {
			return netip.Addr{}, false
		}
	}
	return addr.Unmap().WithZone(""), true
}

// Client returns the address of a request's client: that of the peer of the
// connection, or, if the peer is a trusted proxy, the rightmost address in
// forwardedFor (the value of X-Forwarded-For) that is not a trusted proxy. Addresses
// further left may be forged. If the list ends early or has an invalid address, the
// client is the last trusted proxy before it. ok is false if peer is not an address.
func Client(peer, forwardedFor string, trusted Networks) (client netip.Addr, ok bool) {
	client, ok = ParseAddress(peer)
	for ok && trusted.Contain(client) && forwardedFor != "" {
		cut := strings.LastIndexByte(forwardedFor, ',')
		before, known := ParseAddress(forwardedFor[cut+1:])
		if !known {
			break
		}
		client, forwardedFor = before, forwardedFor[:max(cut, 0)]
	}
	return client, ok
}

// Trusted reports whether the peer of a connection is a trusted proxy, whose
// X-Forwarded headers are used. Those of other peers are ignored.
func (n Networks) Trusted(peer string) bool {
	addr, ok := ParseAddress(peer)
	return ok && n.Contain(addr)
}

// LastForwarded returns the last value of X-Forwarded-Proto or -Host, which the
// trusted proxy wrote. Earlier values may be forged.
func LastForwarded(list string) string {
	return strings.TrimSpace(list[strings.LastIndexByte(list, ',')+1:])
}
