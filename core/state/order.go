package state

import (
	"kith/core"
	"kith/core/conversion"
	"kith/core/referral"
)

// OrderKey identifies an order of a referral.
type OrderKey struct{ Referral, Order string }

// Order is an order of a referral, and what was decided about it.
type Order struct {
	conversion.Order
	// Program and Referrer are those of its referral.
	Program  core.ProgramKey
	Referrer referral.Identity
	conversion.Outcome
}

// Key returns the key of the order.
func (o Order) Key() OrderKey { return OrderKey{o.Referral, o.Order.Key} }

// HistoryKey identifies the events of an account that a program's rules read.
type HistoryKey struct {
	Account core.AccountID
	Program core.ProgramKey
}

// MaxHistory is the most events of an account that are read when it is referred.
const MaxHistory = 1000

// Replay is a part of the sequence of a referrer's orders in a program that is to be
// decided again.
type Replay struct {
	Program  core.ProgramKey
	Referrer referral.Identity
	// From is the first order; Until the last one, or the zero Position for the end.
	From, Until conversion.Position
	// Moderated is the referral whose orders are not decided again, but whose rewards
	// follow its moderation; empty to decide all orders.
	Moderated string
	// Limit is the most orders of the next step, at most ReplayChunk.
	Limit int
}

// ReplayChunk is the most orders that any step of a replay decides.
const ReplayChunk = 100

// Sequence is the loaded part of a Replay, and what the orders before it come to.
type Sequence struct {
	conversion.Chunk
	// Stored are the orders of the chunk.
	Stored []Order
	// More is true if the replay continues after the chunk, at Next.
	More bool
	Next conversion.Position
}
