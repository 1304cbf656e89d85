package event

import "kith/core"

// Logged is an event that was processed.
type Logged struct {
	Event
	Account             core.AccountID
	User                core.UserID
	Received, Processed core.Time
}

// Filter narrows a list of events; what is empty does not.
type Filter struct {
	ID      string
	Account core.AccountID
	// User is one of Account's, and of no use without it.
	User                           core.UserID
	Key                            string
	Triggered, Received, Processed core.Span
	Limit, Offset                  int
}
