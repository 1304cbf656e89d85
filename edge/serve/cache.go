package serve

import (
	"crypto/sha256"
	"strconv"

	"kith/core"
	"kith/core/wire"
	"kith/edge/abi"
)

// The targets of share links and codes are cached in the key-value store, if the host
// has one: on Spin, reading it takes 10 % of the time of a database connection. The
// cache is direct-mapped: a key has one slot, and replaces another key in it. So its
// size is limited without a list or an eviction.
//
// Only data about tenants, programs and sites is cached: no personal data, not even
// the code, because a slot has only a hash of the parameters. The hash includes the
// statement, so that a new version does not read entries of an old one.
const (
	// linkStore is the name under which the manifest grants the store.
	linkStore = "default"
	// slots is below the 1,024 pairs for which Spin guarantees space.
	slots = 1000
	// longestAge is the longest time for which an entry is used, and longestWithout that
	// without a database.
	longestAge     = 2 * core.Second
	longestWithout = 5 * core.Minute
)

// slot is the cache entry for a statement and its parameters.
type slot struct {
	store abi.Store
	// ok is true if the store could be opened.
	ok        bool
	name, key string
}

func openSlot(statement string, params ...string) slot {
	store, err := abi.OpenStore(linkStore)
	if err != nil {
		return slot{}
	}
	sum := sha256.Sum256([]byte(wire.List(append(params, statement))))
	number := (int(sum[0])<<16 | int(sum[1])<<8 | int(sum[2])) % slots
	return slot{store: store, ok: true, name: "link-" + strconv.Itoa(number), key: string(sum[:])}
}

// find returns the texts in the slot; false if they are of another key or too old.
func (s slot) find(now core.Time) ([]string, bool) {
	if !s.ok {
		return nil, false
	}
	text, err := s.store.Get(s.name)
	if err != nil {
		return nil, false
	}
	stored, ok := wire.Items(text)
	if !ok || len(stored) < 3 || stored[0] != s.key {
		return nil, false
	}
	begin, _ := strconv.ParseInt(stored[1], 10, 64)
	end, err := strconv.ParseInt(stored[2], 10, 64)
	// An entry from the future is from before the clock was set back.
	if err != nil || core.Time(end) <= now || core.Time(begin) > now {
		return nil, false
	}
	return stored[3:], true
}

// keep stores texts in the slot from begin until end. Errors are ignored: the database, or the
// backend, is asked the next time.
func (s slot) keep(begin, end core.Time, texts ...string) {
	head := []string{s.key, strconv.FormatInt(int64(begin), 10), strconv.FormatInt(int64(end), 10)}
	_ = s.store.Set(s.name, wire.List(append(head, texts...)))
}

// linkAge returns how long an entry may be cached; 0 means not at all.
func (r *request) linkAge() core.Time {
	age, err := strconv.Atoi(r.variable(linkAgeVariable))
	if err != nil || age < 0 {
		return 0
	}
	if r.without {
		return min(core.Time(age), longestWithout)
	}
	return min(core.Time(age), longestAge)
}
