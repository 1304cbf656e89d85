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
	most int

	mu       sync.Mutex
	failures window[[16]byte]
}

// NewNames returns a limiter that allows most failed attempts on each name in any window.
func NewNames(most int, window time.Duration, now func() time.Time) *Names {
	return &Names{most: most, failures: newWindow[[16]byte](window, now)}
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
	key := nameKey(name)
	if n.failures.recent(key) >= n.most {
		return false
	}
	current := n.failures.current
	if _, known := current[key]; !known && len(current) >= maxNames {
		return false
	}
	current[key]++
	return true
}

// Give takes the attempt of a successful Take back.
func (n *Names) Give(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.failures.advance()
	if key, current := nameKey(name), n.failures.current; current[key] > 1 {
		current[key]--
	} else {
		delete(current, key)
	}
}

// Succeed forgets the failed attempts on a name.
func (n *Names) Succeed(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.failures.advance()
	delete(n.failures.current, nameKey(name))
	delete(n.failures.previous, nameKey(name))
}
