package auth

import (
	"net/netip"
	"strings"

	"kith/core"
)

// Networks are ranges of addresses. The zero value has none.
type Networks []netip.Prefix

// ParseNetworks reads CIDR networks and addresses, separated by commas or blanks,
// as in "10.0.0.0/8, 2001:db8::/32, 192.0.2.7".
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
			return nil, core.Invalid(field, "must name IPv4 networks as such: "+word+" is IPv4 in the form of IPv6")
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

// String is the networks as ParseNetworks reads them.
func (n Networks) String() string {
	words := make([]string, len(n))
	for i, network := range n {
		words[i] = network.String()
	}
	return strings.Join(words, ",")
}

// ParseAddress reads an IP address with or without a port or brackets. IPv4 in
// the form of IPv6 is IPv4; a zone is dropped.
func ParseAddress(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	addr, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	if err != nil {
		withPort, portErr := netip.ParseAddrPort(text)
		if portErr != nil {
			return netip.Addr{}, false
		}
		addr = withPort.Addr()
	}
	return addr.Unmap().WithZone(""), true
}

// Client is the address of a request's client: of the peer of the connection, or,
// when that is a trusted proxy, the rightmost address in forwardedFor (the value
// of X-Forwarded-For) that is not one. Anything further left may be what the
// client made up. When the list ends early or has what is no address, the client
// is the last trusted proxy that was read. ok is false when the peer itself has no
// address.
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

// Trusted reports whether the peer of a connection is a trusted proxy: then, and
// only then, are its X-Forwarded headers read.
func (n Networks) Trusted(peer string) bool {
	addr, ok := ParseAddress(peer)
	return ok && n.Contain(addr)
}

// LastForwarded is the last value of X-Forwarded-Proto or -Host, which the proxy
// wrote that we trust; those before it may be a client's.
func LastForwarded(list string) string {
	return strings.TrimSpace(list[strings.LastIndexByte(list, ',')+1:])
}
