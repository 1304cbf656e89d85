package event

import "kith/core"

// Logged is a processed event.
type Logged struct {
	Event
	Account             core.AccountID
	User                core.UserID
	Received, Processed core.Time
}

// Filter selects events. An empty field matches all.
type Filter struct {
	ID      string
	Account core.AccountID
	// User is a user of Account, and is ignored without it.
	User                           core.UserID
	Key                            string
	Triggered, Received, Processed core.Span
	Limit, Offset                  int
}
