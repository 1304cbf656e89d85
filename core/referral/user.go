package referral

import (
	"slices"

	"kith/core"
	"kith/core/link"
)

// MaxSegments is the most segments that a user may be in.
const MaxSegments = 100

// MaxUsers is the most users that an account may have (reference, 6; RS013).
const MaxUsers = 1000

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
	Codes []UserCode
	// Links are the names of the share links that the tenant gave the user, by
	// program; where there is none, the code is the name.
	Links []UserCode
	// CookieID is the id that was drawn for a user who came without one; empty
	// for all others.
	CookieID string
	// FirstSeenIP and LastSeenIP are where a browser of the user was seen; empty
	// when none ever was.
	FirstSeenIP, LastSeenIP string
	// USTaxForm is when the user's tax form was submitted, zero before.
	USTaxForm core.Time
	Created   core.Time
	// Blocked is since when the user may refer nobody, zero when not at all.
	Blocked core.Time
}

// UserCode is a code that a user owns in a program.
type UserCode struct {
	Program core.ProgramKey
	Code    core.ReferralCode
}

// OwnedCode is a stored code of a user.
type OwnedCode struct {
	UserCode
	// LinkOnly is true for the name of a share link that is no code of the user's
	// besides.
	LinkOnly bool
	// Linked is when it was last given as a share link; zero: never.
	Linked core.Time
}

// Primary returns of a user's stored codes those that count: the newest code of
// each program, and the share link of each that was given last. All are of one
// user; those of a program come one after the other, the oldest first.
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

// replaceLast adds a code, in place of the last one when that is of its program.
func replaceLast(codes []UserCode, c UserCode) []UserCode {
	if n := len(codes); n > 0 && codes[n-1].Program == c.Program {
		codes[n-1] = c
		return codes
	}
	return append(codes, c)
}

// UserLink is a share link that a user is given in a program.
type UserLink struct {
	UserCode
	// Host is the host of the link; it must be that of the tenant's share links.
	Host string
}

// LinkNames are the names of a user's primary share links by program: those that
// the user was given, and for other programs the codes.
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
	// USTaxForm is when the user's tax form was submitted, in epoch ms.
	USTaxForm *int64
	// Codes are codes that the user is to own.
	Codes []UserCode
	// Links are share links that are to be the user's primary ones.
	Links             []UserLink
	PaymentProviderID *core.PaymentProviderID
	// Status is the account's subscription status, when the call gives it and may.
	Status *Status
	// Reported is the status that an unsigned call of a browser gives; see
	// Account.Report.
	Reported *Status
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

// ParseImageURL returns s as the address of a user's picture, or an error about
// field. Pages show it, so it must not be a script. Empty is none.
func ParseImageURL(field, s string) (string, error) {
	if s != "" && !link.ValidLandingURL(s) {
		return "", core.Invalid(field, "must be an absolute http or https URL, or empty")
	}
	return s, nil
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
	if u.USTaxForm != nil {
		user.USTaxForm = core.Time(*u.USTaxForm)
	}
	user.Segments = applySegments(user.Segments, u.Segments)
	return user
}

// Same reports whether two users have the same in everything that is stored.
func (u User) Same(as User) bool {
	return u.SameProfile(as) && slices.Equal(u.Codes, as.Codes) && slices.Equal(u.Links, as.Links) && u.Blocked == as.Blocked
}

// SameProfile is Same without the codes and links, and without what blocks a user.
func (u User) SameProfile(as User) bool {
	return u.Account == as.Account && u.ID == as.ID &&
		u.FirstName == as.FirstName && u.LastName == as.LastName && u.Email == as.Email && u.ImageURL == as.ImageURL &&
		u.Locale == as.Locale && u.CountryCode == as.CountryCode && u.Referable == as.Referable &&
		u.CustomFields == as.CustomFields && slices.Equal(u.Segments, as.Segments) &&
		u.CookieID == as.CookieID && u.FirstSeenIP == as.FirstSeenIP && u.LastSeenIP == as.LastSeenIP &&
		u.USTaxForm == as.USTaxForm && u.Created == as.Created
}

// Settled reports whether an identification moves nothing besides the user's
// own profile: not the account, not its referral (nil when it has none), not
// the codes that the user owns. A code that is claimed always moves something,
// whatever it is decided to mean: what was decided is counted.
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
	// Whatever the time is, but for none: it tells a first PAID.
	after, _ := Decide(account.Standing, Command{Now: 1, Identify: true, Paid: u.Status != nil && *u.Status == Paid})
	if after != account.Standing || after.Referral != None && ref == nil {
		return false
	}
	return ref == nil || ref.Referred.User != "" && (account.Status != Cancelled || ref.Ended != 0)
}

// FirstProgram is the program whose code stands for a user where only one can:
// "classic", or else the first in which they have one.
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

// maxIP is the length of the longest address, of IPv6 with IPv4 in it.
const maxIP = 45

// SeenAt returns the user as one whose browser was just seen at an address; an
// empty one, or what cannot be one, is no sight.
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
