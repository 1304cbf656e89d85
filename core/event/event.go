// Package event decides which user events are taken in: their form, their
// bounds, and the idempotency rule (spec, Events and Limits).
package event

import (
	"crypto/sha256"
	"encoding/base64"
	"strconv"

	"kith/core"
)

// Bounds of one call.
//
// Spec silent: the reference gives no number of events per call; 1000 small
// events fit the body bound of an event call many times over.
const (
	MaxEvents = 1000
	MaxKey    = 128
	MaxText   = 1500 // bytes of a string among the fields (reference, 1.5)
)

// KeyLife is how long an idempotency key is remembered after it was first
// received (spec, Limits).
const KeyLife = 24 * core.Hour

// KeySince returns the earliest receipt that still blocks a key at now. A
// receipt exactly 24 h ago still does; one millisecond more and it does not.
func KeySince(now core.Time) core.Time { return now - KeyLife }

// CallKept is how long the record of an event call stays after its receipt:
// longer than its key is remembered, so that the clocks of edges may differ.
const CallKept = 2 * KeyLife

// Event is one event of a call.
type Event struct {
	// ID is given by us; an id that a caller sends is ignored.
	ID  string
	Key string
	// Fields is a JSON object as it was sent, or empty.
	Fields string
	// Triggered is when it happened by the caller's clock; the time of receipt
	// when the caller did not say.
	Triggered core.Time
}

// Batch is one event call: all of it is taken in, or none.
type Batch struct {
	Account core.AccountID
	User    core.UserID
	Key     core.IdempotencyKey
	Events  []Event
	// Sender is the id of the API key whose use is to be noted when the call is
	// processed; empty: none is.
	Sender string
	// Received is when the call arrived.
	Received core.Time
}

// Stamp gives every event its id and the call its time. entropy is called once
// for each event.
func (b *Batch) Stamp(now core.Time, entropy func() [6]byte) {
	b.Received = now
	for i := range b.Events {
		e := &b.Events[i]
		e.ID = core.NewID(now, entropy())
		if e.Triggered == 0 {
			e.Triggered = now
		}
	}
}

// OwnKey gives the call's key a place of its own for its user. Every call that
// does not come with the tenant's API key is to have that: a visitor who could use
// the shop's keys up would keep the shop's events out. The ids are in it as a hash,
// since a used key outlives a user who is erased.
func (b *Batch) OwnKey() {
	if b.Key == "" {
		return
	}
	account := string(b.Account)
	sum := sha256.Sum256([]byte(strconv.Itoa(len(account)) + ":" + account + string(b.User) + "\n" + string(b.Key)))
	// No key that a caller sends begins so; see core.ParseIdempotencyKey.
	b.Key = core.IdempotencyKey("~" + base64.RawURLEncoding.EncodeToString(sum[:]))
}

// Duplicate is the answer to a key that was used within KeyLife.
func Duplicate() *core.Error {
	return &core.Error{
		Code: core.CodeConflict, Field: "idempotencyKey",
		Message: "these events were received before, within the last 24 hours; nothing was recorded again",
	}
}
