package sftp

import "net/netip"

// startups counts the unauthenticated connections, by network. Its caller holds the
// server's mutex.
type startups struct {
	pending int
	of      map[netip.Prefix]int
}

func newStartups() startups { return startups{of: map[netip.Prefix]int{}} }

// enter counts a new connection. It returns false if the network of the connection has
// too many, or if chance, a random number in [0, 1), is below the share of connections
// to refuse.
func (s *startups) enter(from netip.Prefix, chance float64) bool {
	if s.of[from] >= MaxPerAddress || chance < dropShare(s.pending) {
		return false
	}
	s.pending++
	s.of[from]++
	return true
}

// leave removes a connection that enter has counted.
func (s *startups) leave(from netip.Prefix) {
	s.pending--
	if s.of[from]--; s.of[from] == 0 {
		delete(s.of, from)
	}
}

// dropShare returns the share of new connections to refuse while pending connections
// have not authenticated: 0 below earlyDrop, rising from dropPercent there to 1 at
// maxHandshakes.
func dropShare(pending int) float64 {
	if pending < earlyDrop {
		return 0
	}
	const first = dropPercent / 100.0
	return first + (1-first)*float64(pending-earlyDrop)/(maxHandshakes-earlyDrop)
}
