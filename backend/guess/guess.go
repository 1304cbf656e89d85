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
	now       func() time.Time

	mu sync.Mutex
	// current counts the attempts in minute, previous those in the minute before.
	minute            int64
	current, previous map[netip.Prefix]int
}

// New returns a limiter that allows each network perMinute attempts in any minute. With
// 0 there is no limit, and New returns nil.
func New(perMinute int, now func() time.Time) *Limiter {
	if perMinute == 0 {
		return nil
	}
	return &Limiter{perMinute: perMinute, now: now, current: map[netip.Prefix]int{}, previous: map[netip.Prefix]int{}}
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
	if l.recent(of) >= l.perMinute {
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
		l.advance()
		if n := l.current[of]; n > 0 {
			l.current[of] = n - 1
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
	recent := l.recent(of)
	if attempts == 0 {
		return recent >= l.perMinute
	}
	l.add(of, attempts)
	return recent+attempts > l.perMinute
}

// recent returns the attempts of a network in the last minute. Those in the minute before
// this one count in proportion to the part of it that is less than a minute old.
func (l *Limiter) recent(of netip.Prefix) int {
	elapsed := l.advance()
	return l.current[of] + int(float64(l.previous[of])*(1-elapsed))
}

// add counts attempts of a network. The count stops at the limit, so that the network is
// admitted again after a minute without attempts.
func (l *Limiter) add(of netip.Prefix, attempts int) {
	if n, known := l.current[of]; known || len(l.current) < maxNetworks {
		l.current[of] = min(n+attempts, l.perMinute)
	}
}

// advance begins a new minute if needed, and returns the elapsed fraction of the
// current one.
func (l *Limiter) advance() float64 {
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
