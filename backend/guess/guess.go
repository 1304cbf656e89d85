// Package guess counts attempts to guess referral codes, API keys and ids, by the
// network that they come from. It does not know what an attempt is.
package guess

import (
	"net/netip"
	"sync"
	"time"
)

// maxNetworks bounds what is remembered of a minute. Further networks are not
// counted: an attacker with that many makes more guesses than a count would stop.
const maxNetworks = 100_000

// Limiter bounds the attempts of each network: /24 of IPv4, /56 of IPv6, which is
// what one customer of a provider gets. It is safe for concurrent use; nil bounds
// nothing.
type Limiter struct {
	perMinute int
	now       func() time.Time

	mu sync.Mutex
	// minute is the one that current counts; previous counts the one before it.
	minute            int64
	current, previous map[netip.Prefix]int
}

// New lets each network make perMinute attempts in any minute; 0 is any number,
// and returns nil.
func New(perMinute int, now func() time.Time) *Limiter {
	if perMinute == 0 {
		return nil
	}
	return &Limiter{perMinute: perMinute, now: now, current: map[netip.Prefix]int{}, previous: map[netip.Prefix]int{}}
}

// PerMinute is the bound.
func (l *Limiter) PerMinute() int {
	if l == nil {
		return 0
	}
	return l.perMinute
}

// network is what an address is counted by. Addresses that are not public are not
// counted: behind a proxy that is not trusted they are everybody's.
func network(a netip.Addr) (netip.Prefix, bool) {
	a = a.Unmap().WithZone("")
	if !a.IsValid() || a.IsUnspecified() || a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast() {
		return netip.Prefix{}, false
	}
	bits := 56
	if a.Is4() {
		bits = 24
	}
	p, err := a.Prefix(bits)
	return p, err == nil
}

// Exhausted reports whether a network has no attempts left for now.
func (l *Limiter) Exhausted(a netip.Addr) bool { return l.count(a, 0) }

// Count adds attempts, and reports whether they were more than the network may
// make.
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
	elapsed := l.turn()
	n, known := l.current[of]
	// The previous minute counts for the part of it that is less than a minute ago.
	recent := n + int(float64(l.previous[of])*(1-elapsed))
	if attempts == 0 {
		return recent >= l.perMinute
	}
	if known || len(l.current) < maxNetworks {
		// More than the bound is not remembered, so that a network is let in again
		// when it has been quiet for a minute.
		l.current[of] = min(n+attempts, l.perMinute)
	}
	return recent+attempts > l.perMinute
}

// turn moves on to the minute that it is, and returns the part of it that has
// passed.
func (l *Limiter) turn() float64 {
	now := l.now().UnixMilli()
	if minute := now / 60_000; minute != l.minute {
		l.previous = l.current
		if minute != l.minute+1 {
			l.previous = map[netip.Prefix]int{}
		}
		l.current, l.minute = map[netip.Prefix]int{}, minute
	}
	return float64(now%60_000) / 60_000
}
