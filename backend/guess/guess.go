// Package guess limits attempts to guess referral codes, API keys, ids and passwords, and
// the work that they cause, by the client's network. Its callers decide what counts as an
// attempt.
package guess

import (
	"net/netip"
	"sync"
	"time"
)

// maxNetworks bounds the networks that are counted in one minute. Further networks are
// not counted: an attacker with that many networks is not stopped by a limit anyway.
const maxNetworks = 100_000

// Limiter bounds the attempts of each network: /24 for IPv4, and /56 for IPv6, which is
// what an internet provider gives one customer. It is safe for concurrent use. A nil
// Limiter has no limit.
type Limiter struct {
	perMinute int

	mu       sync.Mutex
	attempts window[netip.Prefix]
}

// New returns a limiter that allows each network perMinute attempts in any minute. With
// 0 there is no limit, and New returns nil.
func New(perMinute int, now func() time.Time) *Limiter {
	if perMinute == 0 {
		return nil
	}
	return &Limiter{perMinute: perMinute, attempts: newWindow[netip.Prefix](time.Minute, now)}
}

// PerMinute returns the limit, or 0 for none.
func (l *Limiter) PerMinute() int {
	if l == nil {
		return 0
	}
	return l.perMinute
}

// Public reports whether an address is public. Others are not counted: behind an untrusted
// proxy all clients have the proxy's address.
func Public(a netip.Addr) bool {
	a = a.Unmap()
	return a.IsValid() && !a.IsUnspecified() && !a.IsLoopback() && !a.IsPrivate() && !a.IsLinkLocalUnicast()
}

// network returns the network of an address; ok is false for one that is not counted.
func network(a netip.Addr) (of netip.Prefix, ok bool) { return prefix(a, 56) }

// prefix returns the /24 of an IPv4 address, or the prefix of an IPv6 address with some bits.
func prefix(a netip.Addr, bits int) (of netip.Prefix, ok bool) {
	a = a.Unmap().WithZone("")
	if !Public(a) {
		return netip.Prefix{}, false
	}
	if a.Is4() {
		bits = 24
	}
	p, err := a.Prefix(bits)
	return p, err == nil
}

// Take counts one attempt, unless the network has none left; then it returns false.
func (l *Limiter) Take(a netip.Addr) bool {
	if l == nil {
		return true
	}
	of, counted := network(a)
	if !counted {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.attempts.recent(of) >= l.perMinute {
		return false
	}
	l.add(of, 1)
	return true
}

// Give takes the attempt of a successful Take back.
func (l *Limiter) Give(a netip.Addr) {
	if of, counted := network(a); l != nil && counted {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.attempts.advance()
		if n := l.attempts.current[of]; n > 0 {
			l.attempts.current[of] = n - 1
		}
	}
}

// Exhausted reports whether a network has no attempts left in this minute.
func (l *Limiter) Exhausted(a netip.Addr) bool { return l.count(a, 0) }

// Count adds attempts, and reports whether they exceed the limit of the network.
func (l *Limiter) Count(a netip.Addr, attempts int) (tooMany bool) { return l.count(a, attempts) }

func (l *Limiter) count(a netip.Addr, attempts int) bool {
	if l == nil {
		return false
	}
	of, counted := network(a)
	if !counted {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	recent := l.attempts.recent(of)
	if attempts == 0 {
		return recent >= l.perMinute
	}
	l.add(of, attempts)
	return recent+attempts > l.perMinute
}

// add counts attempts of a network. The count stops at the limit, so that the network is
// admitted again after a minute without attempts.
func (l *Limiter) add(of netip.Prefix, attempts int) {
	current := l.attempts.current
	if n, known := current[of]; known || len(current) < maxNetworks {
		current[of] = min(n+attempts, l.perMinute)
	}
}

// Network returns the network of an address as text: for an address that is not public, the
// address, or "" if it is unknown.
func Network(a netip.Addr) string {
	of, counted := network(a)
	switch {
	case counted:
		return of.String()
	case a.IsValid():
		return a.Unmap().String()
	}
	return ""
}
