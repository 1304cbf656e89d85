package pipeline

import (
	"strconv"
	"strings"

	"kith/core"
	"kith/core/event"
	"kith/core/referral"
)

// Limits of settings.
const (
	// MaxPaths is the most paths of one value.
	MaxPaths = 5
	// MaxNames is the most entries of a mapping of events, fields or statuses.
	MaxNames = 100
	maxPath  = 200
	maxDepth = 5
)

// Path is the place of a value in a message: names of keys, separated by dots, such as
// context.groupId.
type Path string

// ParsePath returns s as a path, or an error about field.
func ParsePath(field, s string) (Path, error) {
	names := strings.Split(s, ".")
	ok := len(s) <= maxPath && len(names) <= maxDepth
	for _, name := range names {
		ok = ok && name != ""
	}
	if !ok || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", core.Invalid(field, "must be 1 to 5 names of keys, separated by dots, such as context.groupId")
	}
	return Path(s), nil
}

// Names returns the names of the keys.
func (p Path) Names() []string { return strings.Split(string(p), ".") }

// Name maps the name of an event to the key under which it is logged. An empty key
// ignores the event.
type Name struct{ Event, Key string }

// Field maps properties to a field of an event: the first path that has a value counts.
type Field struct {
	Name string
	From []Path
}

// Custom maps a trait to a custom field of the user.
type Custom struct {
	Name string
	From Path
}

// StatusOf maps the value of a trait to the status of an account.
type StatusOf struct {
	Value  string
	Status referral.Status
}

// Settings say what the messages of a tenant's pipeline do. Paths of Account begin at the
// message, those of Fields at its properties, and all others at its traits.
type Settings struct {
	// CreateUsers is true if a track of an unknown user creates the user.
	CreateUsers bool
	// Account are the places of the account's id. Without a value there, the account's id
	// is the user's.
	Account []Path
	Events  []Name
	// IgnoreOthers is true if events that Events does not name are ignored. Otherwise
	// they are logged under their own names.
	IgnoreOthers bool
	Fields       []Field
	Custom       []Custom
	// Code are the places of the referral code that an identify brings.
	Code []Path
	// StatusTrait is the trait of a group that decides the status of the account, by
	// Statuses; empty: a group does not change it.
	StatusTrait Path
	Statuses    []StatusOf
}

// Default returns the settings of a tenant that has none: the names of Segment's
// e-commerce specification.
func Default() Settings {
	return Settings{
		CreateUsers: true,
		Events:      []Name{{"Order Completed", "purchase"}, {"Order Refunded", "refund"}},
		Fields: []Field{
			{"order_id", []Path{"order_id", "orderId"}},
			{"revenue", []Path{"revenue", "total"}},
			{"currency", []Path{"currency"}},
			{"coupon", []Path{"coupon"}},
			{"referral_code", []Path{"referral_code", "referralCode", "coupon"}},
		},
		Code: []Path{"referral_code", "referralCode"},
	}
}

// EventKey returns the key under which an event is logged; ok is false if it is ignored.
func (s Settings) EventKey(name string) (key string, ok bool) {
	for _, n := range s.Events {
		if n.Event == name {
			return n.Key, n.Key != ""
		}
	}
	return name, !s.IgnoreOthers
}

// Status returns the status of an account by the value of its trait; ok is false if the
// value has none.
func (s Settings) Status(value string) (status referral.Status, ok bool) {
	for _, of := range s.Statuses {
		if of.Value == value {
			return of.Status, true
		}
	}
	return "", false
}

// Check returns an error if the settings contradict each other or exceed the limits.
func (s Settings) Check() error {
	for _, n := range []struct {
		field string
		n     int
	}{{"events", len(s.Events)}, {"fields", len(s.Fields)}, {"customFields", len(s.Custom)}, {"accountStatus.values", len(s.Statuses)}} {
		if n.n > MaxNames {
			return core.Invalid(n.field, "must not have more than "+strconv.Itoa(MaxNames)+" keys")
		}
	}
	for _, n := range s.Events {
		if len(n.Key) > event.MaxKey || n.Key != strings.TrimSpace(n.Key) {
			return core.Invalid("events."+n.Event, "must be at most "+strconv.Itoa(event.MaxKey)+" bytes without a blank at either end, or empty to ignore the event")
		}
	}
	for _, f := range s.Fields {
		if f.Name == "" || len(f.Name) > event.MaxKey {
			return core.Invalid("fields", "must have names of 1 to "+strconv.Itoa(event.MaxKey)+" bytes")
		}
	}
	if (s.StatusTrait == "") != (len(s.Statuses) == 0) {
		return core.Invalid("accountStatus", "must have both trait and values; leave it out, and groups change no status")
	}
	return nil
}
