package referral

import (
	"slices"

	"kith/core"
)

// MaxSegments is the most segments that a user may be in.
const MaxSegments = 100

// User is a stored user (reference, 1.2). Texts are empty when never given.
type User struct {
	Account     core.AccountID
	ID          core.UserID
	FirstName   string
	LastName    string
	Email       string
	ImageURL    string
	Locale      string
	CountryCode string
	// Referable is true unless the caller forbade that the user be referred.
	Referable bool
	// CustomFields is a JSON object, "{}" when never given.
	CustomFields string
	// Segments are the user's segment keys, each once, in order of entry.
	Segments []string
	// Codes are the user's own referral codes by program.
	Codes   []UserCode
	Created core.Time
}

// UserCode is a code that a user owns in a program.
type UserCode struct {
	Program core.ProgramKey
	Code    core.ReferralCode
}

// UserUpdate is the body of an identification. Nil means "not given: leave as
// it is".
type UserUpdate struct {
	Account     core.AccountID
	ID          core.UserID
	FirstName   *string
	LastName    *string
	Email       *string
	ImageURL    *string
	Locale      *string
	CountryCode *string
	Referable   *bool
	// CustomFields are the keys to set, as raw JSON values; "null" removes one.
	CustomFields []CustomField
	// Segments are operations: "x" adds, "~x" removes, "~*" clears.
	Segments []string
	// Codes are codes that the user is to own.
	Codes             []UserCode
	PaymentProviderID *core.PaymentProviderID
	// Status is the account's subscription status, when the call tells it.
	Status *Status
	// Claims are the codes that the body brings, most preferred first: explicit
	// ones, then those of its "cookies". Only Code, Source and Fault are set.
	Claims []Claim
}

// CustomField is one key of a user's custom fields and its JSON value.
type CustomField struct{ Name, Value string }

// NewUser returns a user as it is before anything is known of it.
func NewUser(account core.AccountID, id core.UserID, now core.Time) User {
	return User{Account: account, ID: id, Referable: true, CustomFields: "{}", Created: now}
}

// Apply returns the user with what the update gives, but for custom fields,
// which are JSON and so merged in core/wire, and codes, which may belong to
// somebody else.
func (u UserUpdate) Apply(user User) User {
	set(&user.FirstName, u.FirstName)
	set(&user.LastName, u.LastName)
	set(&user.Email, u.Email)
	set(&user.ImageURL, u.ImageURL)
	set(&user.Locale, u.Locale)
	set(&user.CountryCode, u.CountryCode)
	set(&user.Referable, u.Referable)
	user.Segments = applySegments(user.Segments, u.Segments)
	return user
}

func applySegments(have, operations []string) []string {
	out := append([]string(nil), have...)
	for _, op := range operations {
		switch {
		case op == "~*":
			out = out[:0]
		case len(op) > 1 && op[0] == '~':
			out = remove(out, op[1:])
		case !slices.Contains(out, op):
			out = append(out, op)
		}
	}
	return out
}

func remove(from []string, s string) []string {
	kept := from[:0]
	for _, x := range from {
		if x != s {
			kept = append(kept, x)
		}
	}
	return kept
}
