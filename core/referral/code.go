package referral

import "kith/core"

// Code is a stored referral code and its owner.
type Code struct {
	Code    core.ReferralCode
	Program core.ProgramKey
	Owner   Identity
	// FirstName and LastName are those of the owner.
	FirstName, LastName string
	// Blocked is true if the owner is blocked from referring.
	Blocked bool
	// LinkOnly is true for the name of a share link that is not a code of the owner.
	LinkOnly bool
	Created  core.Time
}
