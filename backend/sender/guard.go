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

// errAddress reports that a connection was refused before it was made.
var errAddress = errors.New("the host is unknown or has no public address; correct the URL, or allow the address for a test tenant with kith webhook allow")

// guard decides which addresses the sender may connect to: public ones, and those
// with one of the listed prefixes.
type guard []netip.Prefix

// newGuard parses prefixes of the form that netip.ParsePrefix reads.
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

// control is called with the address of a connection that is about to be made, after
// the host name was resolved. So a name that resolves to different addresses at
// different times (DNS rebinding) gains nothing.
func (g guard) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || !g.allows(to.Addr()) {
		return &net.AddrError{Err: errAddress.Error(), Addr: address}
	}
	return nil
}

// allows reports whether the sender may connect to an address.
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
