// Package event decides which user events are accepted: their form, their limits, and
// the idempotency rule (spec 6, spec 8).
package event

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"

	"kith/core"
)

// Limits of one call.
//
// Spec silent: no number of events per call is published; 1000 small events
// are far below the body limit of an event call.
const (
	MaxEvents = 1000
	MaxKey    = 128
	MaxText   = 1500 // bytes of a string among the fields (clients 1.5.4)
)

// KeyLife is how long an idempotency key is remembered after it was first
// received (spec 8.4).
const KeyLife = 24 * core.Hour

// KeySince returns the earliest time of receipt that blocks a key at now: exactly 24
// h ago.
func KeySince(now core.Time) core.Time { return now - KeyLife }

// CallKept is how long the record of an event call is kept after its receipt. It is
// longer than KeyLife, because the clocks of edges may differ.
const CallKept = 2 * KeyLife

// Event is one event of a call.
type Event struct {
	// ID is set by Stamp; an id that a caller sends is ignored.
	ID  string
	Key string
	// Fields is the JSON object as sent, or empty.
	Fields string
	// Triggered is when it happened by the caller's clock; if the caller sent no
	// time, the time of receipt.
	Triggered core.Time
}

// Call is the events of a call. All of them are stored, or none.
type Call struct {
	Account core.AccountID
	User    core.UserID
	Key     core.IdempotencyKey
	Events  []Event
	// Sender is the id of the API key whose last use is updated when the call is
	// processed; empty for none.
	Sender string
	// Trusted is true if the sender has the API key, or runs an import. Only the events
	// of such a call convert referrals: any page could send the others.
	Trusted bool
	// Received is when the call was received.
	Received core.Time
}

// Stamp sets the time of receipt, and the id of every event: they sort in the order of the
// call. entropy are random bytes.
func (b *Call) Stamp(now core.Time, entropy [6]byte) {
	b.Received = now
	for i := range b.Events {
		e := &b.Events[i]
		e.ID = core.NewID(now, entropy)
		entropy = core.NextEntropy(entropy)
		if e.Triggered == 0 {
			e.Triggered = now
		}
	}
}

// OwnKey makes the call's key specific to its user. Apply it to every call that does
// not use the tenant's API key: otherwise a visitor could send keys of the shop
// first, and the shop's events would be refused as duplicates. The key has the user's
// ids as a hash, because it is kept after the user is deleted.
func (b *Call) OwnKey() {
	if b.Key == "" {
		return
	}
	account := string(b.Account)
	sum := sha256.Sum256([]byte(strconv.Itoa(len(account)) + ":" + account + string(b.User) + "\n" + string(b.Key)))
	// No key that a caller sends begins with "~"; see core.ParseIdempotencyKey.
	b.Key = core.IdempotencyKey("~" + base64.RawURLEncoding.EncodeToString(sum[:]))
}

// KeyFrom takes the call's key from the header Idempotency-Key, if the body has none. sent are
// the values of the header, joined by commas, and false if there are none.
func (b *Call) KeyFrom(header string, sent bool) error {
	if !sent {
		return nil
	}
	key, err := core.ParseKeyHeader(header)
	if err != nil {
		return err
	}
	if b.Key != "" && b.Key != key {
		return core.Invalid(core.KeyHeader, "is not the idempotencyKey of the body; send one of the two")
	}
	b.Key = key
	return nil
}

// Duplicate returns the error for a key that was used within KeyLife. recorded is the key of
// the event that was recorded, if it was another call; see Recorded.
func Duplicate(recorded string) *core.Error {
	if recorded != "" {
		return &core.Error{
			Code: core.CodeConflict, Field: keyField, Differs: true, Recorded: recorded,
			Message: "the key was used for other events within the last 24 hours; nothing was recorded: send these events with a new key",
		}
	}
	return &core.Error{
		Code: core.CodeConflict, Field: keyField,
		Message: "these events were received before, within the last 24 hours; nothing was recorded again",
	}
}

// KeyTaken is Duplicate where it is not known whether the events are the same.
func KeyTaken() *core.Error {
	return &core.Error{
		Code: core.CodeConflict, Field: keyField,
		Message: "the key was used within the last 24 hours; nothing was recorded: if these are other events than those, give them a new key",
	}
}

const keyField = "idempotencyKey"

// IsDuplicate reports whether an error is one of Duplicate.
func IsDuplicate(err error) bool {
	var e *core.Error
	return errors.As(err, &e) && e.Code == core.CodeConflict && e.Field == keyField
}
