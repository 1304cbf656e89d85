// Package pipeline decides what the messages of a customer-data pipeline do: those that
// the webhook destinations of Segment and RudderStack send (spec 6.3). An identify
// updates a user, a track logs an event, and a group updates an account.
package pipeline

import (
	"crypto/hmac"
	"crypto/sha1" // #nosec G505 -- Segment signs with it
	"encoding/hex"
	"strings"

	"kith/core"
	"kith/core/event"
	"kith/core/referral"
)

// Limits of a call.
//
// Spec silent: 500 KB is the limit of a batch at Segment.
const (
	// MaxBody is the largest body, in bytes.
	MaxBody = 512_000
	// MaxMessages is the most messages of a batch.
	MaxMessages = 1000
)

// Type is the type of a message.
type Type string

// The types that have an effect. All others are ignored.
const (
	Identify Type = "identify"
	Track    Type = "track"
	Group    Type = "group"
)

// Message is a message as this service understands it.
type Message struct {
	// Index is its position in the batch. ID is its message id and Type its type, both
	// cut to MaxShown bytes. The id also names an order, if it is not cut.
	Index int
	ID    string
	Type  Type
	// Key is the idempotency key that the message id makes, or empty (spec 6.3).
	Key core.IdempotencyKey
	// User is the update of the user: of an identify, or of the user that a track
	// creates.
	User referral.UserUpdate
	// Event is the event of a track.
	Event event.Event
	// Account is the update of a group's account.
	Account referral.AccountUpdate
	// Omitted are the parts of the message that have no effect because of their form.
	Omitted []Problem
	// Ignored says why the message has no effect; nil if it has one.
	Ignored *Problem
	// Err is why the message is refused; nil if it is not.
	Err error
}

// MaxShown is the most bytes of a message id and of a type in the answer; Cut ends a longer
// one.
const (
	MaxShown = 100
	Cut      = "…"
)

// Problem is what is wrong with a message. An empty Field is the whole message.
type Problem struct{ Field, Message, Remedy string }

// State is what became of a message.
type State uint8

const (
	// Processed is a message whose effect was stored.
	Processed State = iota
	// Duplicate is a message that was processed before, by its id.
	Duplicate
	// Ignored is a message without an effect.
	Ignored
	// Failed is a message that was refused. It will be refused again.
	Failed
)

// Result is a message and what became of it.
type Result struct {
	Message
	State State
}

// Signed reports whether a signature header is that of a body: the HMAC with SHA-1 in
// hexadecimal digits, as in X-Signature of Segment.
func Signed(secret, header string, body []byte) bool {
	given, err := hex.DecodeString(strings.TrimSpace(header))
	if err != nil || secret == "" {
		return false
	}
	mac := hmac.New(sha1.New, []byte(secret))
	mac.Write(body)
	return hmac.Equal(given, mac.Sum(nil))
}

// SplitName returns the first and the last name in a full name: the first word, and the
// rest.
func SplitName(name string) (first, last string) {
	first, last, _ = strings.Cut(strings.TrimSpace(name), " ")
	return first, strings.TrimSpace(last)
}
