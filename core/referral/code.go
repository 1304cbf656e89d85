package referral

import "kith/core"

// Code is a stored referral code and its owner.
type Code struct {
	Code    core.ReferralCode
	Program core.ProgramKey
	Owner   Identity
	// FirstName and LastName are the owner's.
	FirstName, LastName string
	// Blocked is true when the owner may refer nobody.
	Blocked bool
	// LinkOnly is true for the name of a share link that is not among the owner's
	// codes.
	LinkOnly bool
	Created  core.Time
}
