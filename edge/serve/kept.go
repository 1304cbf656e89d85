package serve

import (
	"crypto/sha256"
	"strconv"
	"strings"

	"kith/core"
	"kith/edge/abi"
)

// What share links and codes resolve to is kept in the key-value store, where the
// host has one: on Spin a read of it costs a tenth of a database connection. The
// store is a direct-mapped table: a key has one slot, and takes it from the key that
// had it. So it is bounded, and needs neither a list nor an eviction.
//
// Kept is only what was found and is about a tenant, a program or a site: nothing
// personal, not even the code, since the slot holds a hash of what was asked. The
// hash is over the statement too, which another schema changes.
const (
	// linkStore is the name under which the manifest grants the store.
	linkStore = "default"
	// slots is below the 1,024 pairs that Spin promises room for.
	slots = 1000
	// longestAge bounds how long anything is taken from the store.
	longestAge = 2 * core.Second
)

// slot is the place for what a statement finds for some parameters.
type slot struct {
	store abi.Store
	// ok is true when there is a store.
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

// find returns the texts that the slot holds for its key, unless they are too old.
func (s slot) find(now core.Time) ([]string, bool) {
	if !s.ok {
		return nil, false
	}
	text, err := s.store.Get(s.name)
	if err != nil {
		return nil, false
	}
	held, ok := items(text)
	if !ok || len(held) < 2 || held[0] != s.key {
		return nil, false
	}
	end, err := strconv.ParseInt(held[1], 10, 64)
	// A clock that was set back must not make anything last.
	if err != nil || core.Time(end) <= now || core.Time(end) > now+longestAge {
		return nil, false
	}
	return held[2:], true
}

// keep puts texts into the slot until end. What fails is read from the database
// the next time.
func (s slot) keep(end core.Time, texts ...string) {
	_ = s.store.Set(s.name, list(append([]string{s.key, strconv.FormatInt(int64(end), 10)}, texts...)))
}

// linkAge is how long what was found may be kept; 0 keeps nothing.
func (r *request) linkAge() core.Time {
	age, err := strconv.Atoi(r.variable(linkAgeVariable))
	if err != nil || age < 0 {
		return 0
	}
	return min(core.Time(age), longestAge)
}

// list writes texts, each behind its length.
func list(texts []string) string {
	var b strings.Builder
	for _, text := range texts {
		b.WriteString(strconv.Itoa(len(text)))
		b.WriteByte(':')
		b.WriteString(text)
	}
	return b.String()
}

// items reads what list wrote; ok is false for anything else.
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
