package serve

import (
	"crypto/sha256"
	"strconv"
	"strings"

	"kith/core"
	"kith/core/auth"
	"kith/core/link"
	"kith/core/wire"
	"kith/edge/abi"
)

// Where links lead, and look-ups of codes, are kept in the key-value store, if the host
// has one: on Spin, reading it takes 10 % of the time of a database connection. The
// cache is direct-mapped: a key has one slot, and replaces another key in it. So its
// size is limited without a list or an eviction.
//
// Only data about tenants, programs and sites is kept: no personal data, not even
// the code, because a slot has only a hash of the parameters. The hash includes the
// statement, so that a new version does not read entries of an old one.
//
// The backend reports edits (edits), and the slots of the tenant are emptied. What was asked for
// before a report may be from before the edit, so it is not kept: a request that writes a slot
// then reads when the last report came, and a report notes its time before it reads the slots.
const (
	// linkStore is the name under which the manifest grants the store.
	linkStore = "default"
	// slots is below the 1,024 pairs for which Spin guarantees space.
	slots = 1000
	// longestAge is the longest time for which an entry is used, and longestWithout that
	// without a database.
	longestAge     = 2 * core.Second
	longestWithout = link.MaxAge
	// editsName is the name of the entry with the time of the last report of edits.
	editsName = "edits"
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
	return slot{store: store, ok: true, name: slotName(number), key: string(sum[:])}
}

func slotName(number int) string { return "link-" + strconv.Itoa(number) }

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
	if !ok || len(stored) < slotHead || stored[1] != s.key {
		return nil, false
	}
	begin, end := timeOf(stored[2]), timeOf(stored[3])
	// An entry from the future is from before the clock was set back.
	if end <= now || begin > now {
		return nil, false
	}
	return stored[slotHead:], true
}

// slotHead is the number of texts in a slot before those that are kept: the tenant, the key of the
// slot, and from when until when they are valid.
const slotHead = 4

// timeOf parses a time; it returns 0 for an invalid one.
func timeOf(text string) core.Time {
	n, _ := strconv.ParseInt(text, 10, 64)
	return core.Time(n)
}

func textOf(t core.Time) string { return strconv.FormatInt(int64(t), 10) }

// keep keeps what a request found, if it may be. Errors are ignored: the database, or the
// backend, is asked the next time.
func (r *request) keep(s slot, found wire.Kept) {
	if !s.ok {
		return
	}
	age := min(r.linkAge(), found.MaxAge)
	if age <= 0 {
		return
	}
	head := []string{string(found.Tenant), s.key, textOf(r.now), textOf(r.now + age)}
	_ = s.store.Set(s.name, wire.List(append(head, found.Texts...)))
	if reported, _ := s.store.Get(editsName); timeOf(reported) >= r.now {
		_ = s.store.Set(s.name, "")
	}
}

// edits handles a report of a backend: tenants were edited, or all if none is named. The slots of
// these tenants are emptied. Without such a report, they are valid until their end.
func (r *request) edits() (abi.Response, error) {
	keys, err := r.keys()
	if err != nil {
		return abi.Response{}, err
	}
	tolerance, err := strconv.Atoi(r.variable(clockToleranceVariable))
	if err != nil || r.Method != "POST" || !(auth.Edits{Query: r.query}).Verify(keys.Hop(), r.header(auth.HopHeader), r.now, core.Time(tolerance)) {
		return abi.Response{}, wire.NoSuchPath()
	}
	store, err := abi.OpenStore(linkStore)
	if err != nil { // nothing is kept
		return abi.Response{Status: 204}, nil
	}
	if err = store.Set(editsName, textOf(r.now)); err == nil {
		err = emptySlots(store, r.query)
	}
	if err != nil {
		return abi.Response{}, notReady("the key-value store does not answer; report the edits again", err)
	}
	return abi.Response{Status: 204}, nil
}

// emptySlots empties the slots of tenants, which are separated by commas, or all if there is
// none.
func emptySlots(store abi.Store, tenants string) error {
	list := "," + tenants + ","
	for n := range slots {
		text, err := store.Get(slotName(n))
		if err == abi.KVNoSuchKey || text == "" && err == nil {
			continue
		}
		stored, ok := wire.Items(text)
		if err == nil && ok && len(stored) > 0 && tenants != "" && !strings.Contains(list, ","+stored[0]+",") {
			continue
		}
		if err := store.Set(slotName(n), ""); err != nil {
			return err
		}
	}
	return nil
}

// linkAge returns how long an entry may be kept; 0 means not at all.
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
