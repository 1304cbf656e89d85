package reward

import "kith/core"

// Filter narrows a list of rewards; what is empty does not.
type Filter struct {
	ID      string
	Account core.AccountID
	// User is one of Account's, and of no use without it.
	User             core.UserID
	Kind             Kind
	Unit             string
	Source           Source
	Program          core.ProgramKey
	ProgramRewardKey string
	Referral         string
	// Created, Given, Expires and Cancelled are spans of the reward's dates. A
	// reward that has no such date is in no span.
	Created, Given, Expires, Cancelled Span
	Limit, Offset                      int
}

// Span is a stretch of time from From up to but without To; zero is open.
type Span struct{ From, To core.Time }
