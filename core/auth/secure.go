package auth

import (
	"strings"

	"kith/core"
)

// Endpoint is a call with a switch of its own in secure mode (reference, 2.3).
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

// String is the endpoint's name in settings.
func (e Endpoint) String() string { return endpointNames[e] }

// Endpoints lists every endpoint with a switch.
func Endpoints() []Endpoint {
	all := make([]Endpoint, endpointCount)
	for i := range all {
		all[i] = Endpoint(i)
	}
	return all
}

// Mode says who may call an endpoint besides a holder of the API key, who always
// may.
type Mode uint8

const (
	// Signed admits the user that the call is about, by a user token.
	Signed Mode = iota
	// Open admits anybody besides. A token is still held to its own user.
	Open
	// Disabled admits nobody else.
	Disabled
	modeCount
)

var modeNames = [modeCount]string{"signed", "open", "disabled"}

// String is the mode's name in settings.
func (m Mode) String() string { return modeNames[m] }

// Bearer is who a request's credentials proved it to come from, as far as the
// user goes that the call is about.
type Bearer uint8

const (
	// Nobody sent no credentials.
	Nobody Bearer = iota
	// OtherUser has a token that speaks for somebody else.
	OtherUser
	// SameUser has a token that speaks for that very user.
	SameUser
	// KeyHolder has the tenant's API key.
	KeyHolder
)

// Admits reports whether a bearer may call an endpoint in this mode.
func (m Mode) Admits(b Bearer) bool {
	return b == KeyHolder || b == SameUser && m != Disabled || b == Nobody && m == Open
}

// SecureMode is the mode of every endpoint. Its zero value asks for a signature
// everywhere; see DefaultSecureMode.
type SecureMode [endpointCount]Mode

// DefaultSecureMode asks for a signature everywhere but for a widget (reference,
// 2.3).
func DefaultSecureMode() SecureMode {
	var s SecureMode
	s[GetWidget] = Open
	return s
}

// Admit returns nil when a bearer may call an endpoint, or the error that says
// why not: unauthenticated when credentials would help, forbidden otherwise.
func (s SecureMode) Admit(e Endpoint, b Bearer) error {
	switch {
	case s[e].Admits(b):
		return nil
	case s[e] == Disabled:
		return &core.Error{Code: core.CodeForbidden, Message: "this call is switched off for users of this tenant; it needs the API key"}
	case b == Nobody:
		return NoCredentials()
	}
	return &core.Error{Code: core.CodeForbidden, Message: "the user token speaks for another user"}
}

// With returns the modes after changes of the form ENDPOINT=MODE, separated by
// commas; the error is about field.
func (s SecureMode) With(field, changes string) (SecureMode, error) {
	for change := range strings.SplitSeq(changes, ",") {
		if change == "" {
			continue
		}
		name, mode, _ := strings.Cut(change, "=")
		e, ok := position(endpointNames[:], name)
		if !ok {
			return s, core.Invalid(field, "there is no endpoint "+name+"; there are "+strings.Join(endpointNames[:], ", "))
		}
		m, ok := position(modeNames[:], mode)
		if !ok {
			return s, core.Invalid(field, name+" must be one of "+strings.Join(modeNames[:], ", "))
		}
		s[e] = Mode(m)
	}
	return s, nil
}

// ParseMode reads a mode's name; ok is false when it is none.
func ParseMode(name string) (m Mode, ok bool) {
	i, ok := position(modeNames[:], name)
	return Mode(i), ok
}

// BrowserPayment says when a browser's word counts that an account is PAID: what
// pays rewards out. The API key's word always counts.
type BrowserPayment string

const (
	// PaymentAny takes it also from a call without a token, and from a token that
	// signs nothing but whose it is, as the init call of the spec has it. A token
	// that signs more of the user must sign this too.
	PaymentAny BrowserPayment = "any"
	// PaymentSigned takes it only when the token signs it. The default.
	PaymentSigned BrowserPayment = "signed"
)

// ParseBrowserPayment returns s as a rule; ok is false when it is none.
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
