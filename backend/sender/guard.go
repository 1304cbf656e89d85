package sender

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
)

// errAddress is a connection that was refused before it was made.
var errAddress = errors.New("the host has no public address")

// guard decides which addresses may be connected to: public ones, and those
// with one of the prefixes that it holds.
type guard []netip.Prefix

// newGuard reads prefixes, as ParsePrefix writes them.
func newGuard(allowed []string) (guard, error) {
	g := make(guard, 0, len(allowed))
	for _, text := range allowed {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("webhook: allowed address: %w", err)
		}
		g = append(g, prefix)
	}
	return g, nil
}

// control is called with the address of a connection that is about to be made,
// after the host's name was resolved. So it does not matter what the name meant
// before, or whom the resolver tells what.
func (g guard) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || !g.allows(to.Addr()) {
		return &net.AddrError{Err: errAddress.Error(), Addr: address}
	}
	return nil
}

// allows reports whether an address may be connected to.
func (g guard) allows(a netip.Addr) bool {
	a = a.Unmap()
	if a.Zone() != "" {
		return false
	}
	for _, prefix := range g {
		if prefix.Contains(a) {
			return true
		}
	}
	return public(a)
}

// public reports whether an address is on the public internet. IPv4 has a list
// of what is not; IPv6 has one block that is, with holes.
func public(a netip.Addr) bool {
	if a.Is4() {
		return !within(a, special4)
	}
	if nat64.Contains(a) {
		b := a.As16()
		return public(netip.AddrFrom4([4]byte(b[12:])))
	}
	return global6.Contains(a) && !within(a, special6)
}

func within(a netip.Addr, prefixes []netip.Prefix) bool {
	for _, p := range prefixes {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// The IANA special-purpose address registries, as of 2026.
var (
	special4 = prefixes(
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
	global6  = netip.MustParsePrefix("2000::/3")
	special6 = prefixes(
		"2001::/23",     // protocol assignments, among them Teredo, which holds an IPv4 address
		"2001:db8::/32", // documentation
		"2002::/16",     // 6to4, which holds an IPv4 address
		"3fff::/20",     // documentation
	)
	// nat64 leads to the IPv4 address that it ends in. Where there is no other
	// way to IPv4, it must be let through.
	nat64 = netip.MustParsePrefix("64:ff9b::/96")
)

func prefixes(texts ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		all[i] = netip.MustParsePrefix(text)
	}
	return all
}
