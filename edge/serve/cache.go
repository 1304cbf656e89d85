package serve

import (
	"crypto/sha256"
	"strconv"
	"strings"

	"kith/core"
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
	// longestAge is the longest time for which an entry is used.
	longestAge = 2 * core.Second
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
	sum := sha256.Sum256([]byte(list(append(params, statement))))
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
	stored, ok := items(text)
	if !ok || len(stored) < 2 || stored[0] != s.key {
		return nil, false
	}
	end, err := strconv.ParseInt(stored[1], 10, 64)
	// The upper limit prevents that an entry lasts longer after the clock was set
	// back.
	if err != nil || core.Time(end) <= now || core.Time(end) > now+longestAge {
		return nil, false
	}
	return stored[2:], true
}

// keep stores texts in the slot until end. Errors are ignored: the database is read
// the next time.
func (s slot) keep(end core.Time, texts ...string) {
	_ = s.store.Set(s.name, list(append([]string{s.key, strconv.FormatInt(int64(end), 10)}, texts...)))
}

// linkAge returns how long an entry may be cached; 0 means not at all.
func (r *request) linkAge() core.Time {
	age, err := strconv.Atoi(r.variable(linkAgeVariable))
	if err != nil || age < 0 {
		return 0
	}
	return min(core.Time(age), longestAge)
}

// list encodes texts, each with its length in front.
func list(texts []string) string {
	var b strings.Builder
	for _, text := range texts {
		b.WriteString(strconv.Itoa(len(text)))
		b.WriteByte(':')
		b.WriteString(text)
	}
	return b.String()
}

// items decodes the result of list; ok is false for invalid input.
func items(text string) (texts []string, ok bool) {
	for text != "" {
		length, rest, _ := strings.Cut(text, ":")
		n, err := strconv.Atoi(length)
		if err != nil || n < 0 || n > len(rest) {
			return nil, false
		}
		texts, text = append(texts, rest[:n]), rest[n:]
	}
	return texts, true
}
