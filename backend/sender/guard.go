package sender

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"kith/core/webhook"
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
	return webhook.Public(a)
}
