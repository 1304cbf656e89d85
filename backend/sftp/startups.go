package sftp

import "net/netip"

// startups counts the connections that have not authenticated, by network. Its
// caller holds the server's lock.
type startups struct {
	waiting int
	of      map[netip.Prefix]int
}

func newStartups() startups { return startups{of: map[netip.Prefix]int{}} }

// enter counts a connection in, unless its network has too many or chance, a random
// number of [0, 1), refuses it.
func (s *startups) enter(from netip.Prefix, chance float64) bool {
	if s.of[from] >= MaxPerAddress || chance < dropShare(s.waiting) {
		return false
	}
	s.waiting++
	s.of[from]++
	return true
}

// leave counts a connection out that was counted in.
func (s *startups) leave(from netip.Prefix) {
	s.waiting--
	if s.of[from]--; s.of[from] == 0 {
		delete(s.of, from)
	}
}

// dropShare is the share of new connections that are refused while so many have not
// shown who they are: it rises from dropPercent at earlyDrop to all at maxHandshakes.
func dropShare(waiting int) float64 {
	if waiting < earlyDrop {
		return 0
	}
	const first = dropPercent / 100.0
	return first + (1-first)*float64(waiting-earlyDrop)/(maxHandshakes-earlyDrop)
}
