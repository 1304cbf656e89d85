package reward

import "kith/core"

// Filter selects rewards. An empty field matches all.
type Filter struct {
	ID      string
	Account core.AccountID
	// User is a user of Account, and is ignored without it.
	User             core.UserID
	Kind             Kind
	Unit             string
	Source           Source
	Program          core.ProgramKey
	ProgramRewardKey string
	Referral         string
	// Created, Given, Expires and Cancelled limit the reward's dates. A reward
	// without such a date is in no span.
	Created, Given, Expires, Cancelled core.Span
	Limit, Offset                      int
}
