package auth

import (
	"strings"

	"kith/core"
)

// Endpoint is a call that has its own mode in secure mode (clients 2.3.1).
type Endpoint uint8

const (
	// CreateUser is POST of a user.
	CreateUser Endpoint = iota
	// UpsertUser is PUT of a user, the init call, and the upsert of a widget.
	UpsertUser
	// CreateCookieUser is PUT of a user that has no ids yet.
	CreateCookieUser
	// LookupUser is GET of a user.
	LookupUser
	// ApplyCode is POST of a code to a user.
	ApplyCode
	// ListReferrals is GET of a user's referrals.
	ListReferrals
	// GetWidget renders a widget.
	GetWidget
	// GetShareLinks is GET of a user's share links.
	GetShareLinks
	// TrackEvents is POST of user events.
	TrackEvents
	endpointCount
)

var endpointNames = [endpointCount]string{
	"create-user", "upsert-user", "create-cookie-user", "lookup-user", "apply-code",
	"list-referrals", "get-widget", "get-share-links", "track-events",
}

// String returns the endpoint's name in settings.
func (e Endpoint) String() string { return endpointNames[e] }

// Endpoints lists every endpoint.
func Endpoints() []Endpoint {
	all := make([]Endpoint, endpointCount)
	for i := range all {
		all[i] = Endpoint(i)
	}
	return all
}

// Mode says which callers without the API key may call an endpoint. The API key
// always may.
type Mode uint8

const (
	// Signed admits a user token of the user that the call is about.
	Signed Mode = iota
	// Open also admits anonymous callers. A token of another user is still refused.
	Open
	// Disabled admits only the API key.
	Disabled
	modeCount
)

var modeNames = [modeCount]string{"signed", "open", "disabled"}

// String returns the mode's name in settings.
func (m Mode) String() string { return modeNames[m] }

// Bearer is the verified identity of a caller, in relation to the user that the call
// is about.
type Bearer uint8

const (
	// Anonymous is an anonymous caller.
	Anonymous Bearer = iota
	// OtherUser is a caller with a token of another user.
	OtherUser
	// SameUser is a caller with a token of that user.
	SameUser
	// KeyHolder is a caller with the tenant's API key.
	KeyHolder
)

// Admits reports whether the caller may call an endpoint in this mode.
func (m Mode) Admits(b Bearer) bool {
	return b == KeyHolder || b == SameUser && m != Disabled || b == Anonymous && m == Open
}

// SecureMode has the mode of every endpoint. In its zero value every endpoint is
// Signed; see DefaultSecureMode.
type SecureMode [endpointCount]Mode

// DefaultSecureMode returns the default modes: GetWidget is Open, all others are
// Signed (clients 2.3.2).
func DefaultSecureMode() SecureMode {
	var s SecureMode
	s[GetWidget] = Open
	return s
}

// Admit returns nil if the caller may call an endpoint. Otherwise the error is
// unauthenticated if credentials are missing, else forbidden.
func (s SecureMode) Admit(e Endpoint, b Bearer) error {
	switch {
	case s[e].Admits(b):
		return nil
	case s[e] == Disabled:
		return &core.Error{Code: core.CodeForbidden, Message: "this call is switched off for users of this tenant; it needs the API key"}
	case b == Anonymous:
		return NoCredentials()
	}
	return &core.Error{Code: core.CodeForbidden, Message: "the user token is for another user; send the token of this user"}
}

// With returns the modes with changes of the form ENDPOINT=MODE, separated by commas.
// The error is about field.
func (s SecureMode) With(field, changes string) (SecureMode, error) {
	for change := range strings.SplitSeq(changes, ",") {
		if change == "" {
			continue
		}
		name, mode, _ := strings.Cut(change, "=")
		e, ok := position(endpointNames[:], name)
		if !ok {
			return s, core.Invalid(field, "there is no endpoint "+name+"; use one of "+strings.Join(endpointNames[:], ", "))
		}
		m, ok := position(modeNames[:], mode)
		if !ok {
			return s, core.Invalid(field, name+" must be one of "+strings.Join(modeNames[:], ", "))
		}
		s[e] = Mode(m)
	}
	return s, nil
}

// ParseMode parses a mode's name; ok is false if it is unknown.
func ParseMode(name string) (m Mode, ok bool) {
	i, ok := position(modeNames[:], name)
	return Mode(i), ok
}

// BrowserPayment says when a call without the API key may set an account's status to
// PAID, which gives rewards. A call with the API key always may.
type BrowserPayment string

const (
	// PaymentAny also accepts it from a call without a token, and from a token that
	// has only the user's ids, as in the init call (spec 2.7). A token with further
	// fields of the user must have this one too.
	PaymentAny BrowserPayment = "any"
	// PaymentSigned accepts it only if the token has it. This is the default.
	PaymentSigned BrowserPayment = "signed"
)

// ParseBrowserPayment parses a rule; ok is false if it is unknown.
func ParseBrowserPayment(s string) (b BrowserPayment, ok bool) {
	b = BrowserPayment(s)
	return b, b == PaymentAny || b == PaymentSigned
}

func position(names []string, name string) (int, bool) {
	for i, n := range names {
		if n == name {
			return i, true
		}
	}
	return 0, false
}
