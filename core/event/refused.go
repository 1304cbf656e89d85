package event

import "kith/core"

// Limits of the record of refused calls.
const (
	// MostRefused is the number of refused calls that are kept of a tenant: the newest.
	MostRefused = 1000
	// RefusedKept is how long a refused call is kept after it was last received.
	RefusedKept = 30 * core.Day
	// RefusedAttention is how long a refused call needs attention after it was last received.
	RefusedAttention = 7 * core.Day
)

// Refused is a call that was refused because its idempotency key had been used for other
// events.
type Refused struct {
	Key core.IdempotencyKey
	// Digest is equal for calls with the same user and the same events, whatever their times.
	Digest  string
	Account core.AccountID
	User    core.UserID
	// Event is the key of its first event, Recorded that of the event that was recorded.
	Event, Recorded string
	// Events is the beginning of its events as a JSON array; see wire.Refused.
	Events string
	// Times is how often the call was received, First and Last when.
	Times       int64
	First, Last core.Time
}
