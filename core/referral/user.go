package referral

import (
	"slices"

	"kith/core"
	"kith/core/link"
	"kith/core/reward"
)

// MaxSegments is the most segments that a user may be in.
const MaxSegments = 100

// MaxUsers is the most users that an account may have (clients 6.3.1; RS013).
const MaxUsers = 1000

// User is a stored user (clients 1.2.16). Texts are empty if not given.
type User struct {
	Account     core.AccountID
	ID          core.UserID
	FirstName   string
	LastName    string
	Email       string
	ImageURL    string
	Locale      string
	CountryCode string
	// Referable is false if a caller set that the user must not be referred.
	Referable bool
	// CustomFields is a JSON object; "{}" by default.
	CustomFields string
	// Segments are the user's segment keys, each once, in order of entry.
	Segments []string
	// Codes are the user's own referral codes by program.
	Codes []UserCode
	// Links are the names of the share links that a caller gave the user, by program.
	// In other programs the code is the name.
	Links []UserCode
	// CookieID is the generated id of a user without ids; empty for all others.
	CookieID string
	// FirstSeenIP and LastSeenIP are the IP addresses at which a browser of the user
	// was first and last seen; empty if none was.
	FirstSeenIP, LastSeenIP string
	// USTaxForm is when the user's tax form was submitted; zero if it was not.
	USTaxForm core.Time
	Created   core.Time
	// Blocked is when the user was blocked from referring; zero if the user is not
	// blocked.
	Blocked core.Time
	// BlockedRewards is what becomes of the rewards of a blocked user. If it is empty, those
	// that exist stay, and referrals in progress earn the user nothing.
	BlockedRewards reward.Block
}

// UserCode is a code that a user owns in a program.
type UserCode struct {
	Program core.ProgramKey
	Code    core.ReferralCode
}

// OwnedCode is a stored code of a user.
type OwnedCode struct {
	UserCode
	// LinkOnly is true for the name of a share link that is not also a code.
	LinkOnly bool
	// Linked is when it was last set as a share link; zero means never.
	Linked core.Time
}

// Primary returns a user's primary codes and links: for each program the newest code,
// and the share link that was set last. stored has all codes of one user, grouped by
// program, oldest first.
func Primary(stored []OwnedCode) (codes, links []UserCode) {
	var linked core.Time
	for i, c := range stored {
		if i > 0 && stored[i-1].Program != c.Program {
			linked = 0
		}
		if !c.LinkOnly {
			codes = replaceLast(codes, c.UserCode)
		}
		if c.Linked > 0 && c.Linked >= linked {
			links, linked = replaceLast(links, c.UserCode), c.Linked
		}
	}
	return codes, links
}

// replaceLast adds a code, or replaces the last one if that is of the same program.
func replaceLast(codes []UserCode, c UserCode) []UserCode {
	if n := len(codes); n > 0 && codes[n-1].Program == c.Program {
		codes[n-1] = c
		return codes
	}
	return append(codes, c)
}

// UserLink is a share link to set for a user in a program.
type UserLink struct {
	UserCode
	// Host is the host of the link; it must be that of the tenant's share links.
	Host string
}

// LinkNames returns the names of a user's primary share links by program: Links, and
// for other programs the codes.
func (u User) LinkNames() []UserCode {
	if len(u.Links) == 0 {
		return u.Codes
	}
	names := slices.Clone(u.Codes)
	for i, c := range names {
		for _, l := range u.Links {
			if l.Program == c.Program {
				names[i] = l
			}
		}
	}
	return names
}

// UserUpdate is the body of an identification. A nil field does not change.
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
	// USTaxForm is when the user's tax form was submitted, in epoch milliseconds.
	USTaxForm *int64
	// Codes are codes to give to the user.
	Codes []UserCode
	// Links are share links to set as the user's primary ones.
	Links             []UserLink
	PaymentProviderID *core.PaymentProviderID
	// Status is the account's subscription status, if the call has it and may set it.
	Status *Status
	// OfReferral is true if Status is PAID since the call says that the referral has converted.
	OfReferral bool
	// Reported is the status in an unsigned call of a browser; see Account.Report.
	Reported *Status
	// Claims are the codes in the body, most preferred first: explicit ones, then
	// those of its "cookies". Only Code, Source and Fault are set.
	Claims []Claim
}

// CustomField is one key of a user's custom fields and its JSON value.
type CustomField struct{ Name, Value string }

// NewUser returns a new user with the defaults.
func NewUser(account core.AccountID, id core.UserID, now core.Time) User {
	return User{Account: account, ID: id, Referable: true, CustomFields: "{}", Created: now}
}

// CheckCreated returns an error if the time at which a user was created, as a caller gives
// it, is after now.
func CheckCreated(created, now core.Time) error {
	if created > now {
		return core.Invalid("dateCreated", "must not be in the future")
	}
	return nil
}

// ParseImageURL returns s as the URL of a user's picture, or an error about field.
// Pages use it, so it must not be a javascript: URL. Empty means none.
func ParseImageURL(field, s string) (string, error) {
	if s != "" && !link.ValidLandingURL(s) {
		return "", core.Invalid(field, "must be an absolute http or https URL, or empty")
	}
	return s, nil
}

// Apply returns the user with the fields of the update, except custom fields, which
// are JSON and merged in core/wire, and codes, which may belong to another user.
func (u UserUpdate) Apply(user User) User {
	set(&user.FirstName, u.FirstName)
	set(&user.LastName, u.LastName)
	set(&user.Email, u.Email)
	set(&user.ImageURL, u.ImageURL)
	set(&user.Locale, u.Locale)
	set(&user.CountryCode, u.CountryCode)
	set(&user.Referable, u.Referable)
	if u.USTaxForm != nil {
		user.USTaxForm = core.Time(*u.USTaxForm)
	}
	user.Segments = applySegments(user.Segments, u.Segments)
	return user
}

// Same reports whether two users are equal in all stored fields.
func (u User) Same(as User) bool {
	return u.SameProfile(as) && slices.Equal(u.Codes, as.Codes) && slices.Equal(u.Links, as.Links) && u.Blocked == as.Blocked && u.BlockedRewards == as.BlockedRewards
}

// SameProfile is like Same, but ignores Codes, Links and the block.
func (u User) SameProfile(as User) bool {
	return u.Account == as.Account && u.ID == as.ID &&
		u.FirstName == as.FirstName && u.LastName == as.LastName && u.Email == as.Email && u.ImageURL == as.ImageURL &&
		u.Locale == as.Locale && u.CountryCode == as.CountryCode && u.Referable == as.Referable &&
		u.CustomFields == as.CustomFields && slices.Equal(u.Segments, as.Segments) &&
		u.CookieID == as.CookieID && u.FirstSeenIP == as.FirstSeenIP && u.LastSeenIP == as.LastSeenIP &&
		u.USTaxForm == as.USTaxForm && u.Created == as.Created
}

// Settled reports whether an identification changes at most the user's profile: not
// the account, its referral (nil if it has none), or the user's codes and links. It
// returns false if there are claims, because their verdicts are recorded.
func (u UserUpdate) Settled(user User, account Account, ref *Referral) bool {
	if len(u.Claims) > 0 || changes(account.Status, u.Status) || account.Report(u.Reported).Status != account.Status || changes(account.PaymentProviderID, u.PaymentProviderID) {
		return false
	}
	for _, code := range u.Codes {
		if !slices.Contains(user.Codes, code) {
			return false
		}
	}
	for _, l := range u.Links {
		if !slices.Contains(user.LinkNames(), l.UserCode) {
			return false
		}
	}
	// Any time except zero will do: it only shows whether FirstPaid changes.
	after, _ := Decide(account.Standing, Command{Now: 1, Identify: true, Paid: u.Status != nil && *u.Status == Paid})
	if after != account.Standing || after.Referral != None && ref == nil {
		return false
	}
	return ref == nil || ref.Referred.User != "" && (account.Status != Cancelled || ref.Ended != 0)
}

// FirstProgram returns the program whose code is used where a user can have only one:
// "classic", or else the first in which the user has a code.
func (u User) FirstProgram() core.ProgramKey {
	for _, c := range u.Codes {
		if c.Program == core.ClassicProgram {
			return c.Program
		}
	}
	if len(u.Codes) > 0 {
		return u.Codes[0].Program
	}
	return ""
}

// maxIP is the length of the longest address: IPv6 with an embedded IPv4 address.
const maxIP = 45

// SeenAt returns the user with an IP address at which a browser of the user was just
// seen. An empty or too long address is ignored.
func (u User) SeenAt(ip string) User {
	if ip == "" || len(ip) > maxIP {
		return u
	}
	if u.FirstSeenIP == "" {
		u.FirstSeenIP = ip
	}
	u.LastSeenIP = ip
	return u
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
