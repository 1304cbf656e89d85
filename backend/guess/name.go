package guess

import (
	"crypto/sha256"
	"sync"
	"time"
)

// maxNames bounds the names that are counted in one window. Further names get no attempt:
// an attacker who fills the map would otherwise have any number of them.
const maxNames = 100_000

// Names bounds the failed attempts on each name, such as the address of a person who
// signs in. It is safe for concurrent use.
type Names struct {
	most   int
	window time.Duration
	now    func() time.Time

	mu sync.Mutex
	// current counts the failures in the window number, previous those in the one before.
	number            int64
	current, previous map[[16]byte]int
}

// NewNames returns a limiter that allows most failed attempts on each name in any window.
func NewNames(most int, window time.Duration, now func() time.Time) *Names {
	return &Names{most: most, window: window, now: now, current: map[[16]byte]int{}, previous: map[[16]byte]int{}}
}

// nameKey returns the key of a name in the maps. It has the same size for each name.
func nameKey(name string) (key [16]byte) {
	sum := sha256.Sum256([]byte(name))
	copy(key[:], sum[:])
	return key
}

// Take counts an attempt on a name as failed, unless the name has none left, or too many
// names are counted; then it returns false. Give takes it back.
func (n *Names) Take(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	elapsed := n.advance()
	key := nameKey(name)
	count, known := n.current[key]
	// The previous window counts in proportion to the part of it that is not older than one window.
	if count+int(float64(n.previous[key])*(1-elapsed)) >= n.most {
		return false
	}
	if !known && len(n.current) >= maxNames {
		return false
	}
	n.current[key] = count + 1
	return true
}

// Give takes the attempt of a successful Take back.
func (n *Names) Give(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.advance()
	if key := nameKey(name); n.current[key] > 1 {
		n.current[key]--
	} else {
		delete(n.current, key)
	}
}

// Succeed forgets the failed attempts on a name.
func (n *Names) Succeed(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.advance()
	delete(n.current, nameKey(name))
	delete(n.previous, nameKey(name))
}

// advance begins a new window if needed, and returns the elapsed fraction of the current
// one.
func (n *Names) advance() float64 {
	now, size := n.now().UnixNano(), n.window.Nanoseconds()
	if number := now / size; number != n.number {
		n.previous = n.current
		if number != n.number+1 {
			n.previous = map[[16]byte]int{}
		}
		n.current, n.number = map[[16]byte]int{}, number
	}
	return float64(now%size) / float64(size)
}
