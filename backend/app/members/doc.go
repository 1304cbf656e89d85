// Package members has the use cases of the people who work in the portal: they sign in,
// manage their own profile, invite and remove members of a tenant, and read the audit log.
// Each use case that acts in a tenant takes a people.Caller and requires an operation of
// the caller's role.
package members

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/netip"
	"time"

	"kith/backend/app/base"
	"kith/backend/guess"
	"kith/core"
)

// Visitor is the sender of a request.
type Visitor struct {
	// Address is the visitor's IP address; the zero Addr if it is unknown.
	Address netip.Addr
	// Agent is the name that the browser gives itself.
	Agent string
	// Device is what the browser keeps of an earlier sign-in; see SignIns.NewDevice. It may
	// be empty or invalid.
	Device string
}

// from returns the visitor's address as it is stored.
func (v Visitor) from() string {
	if !v.Address.IsValid() {
		return ""
	}
	return v.Address.Unmap().WithZone("").String()
}

// maxAgent limits the stored name of a browser, in bytes.
const maxAgent = 200

func (v Visitor) agent() string {
	return string([]rune(v.Agent[:min(len(v.Agent), maxAgent)]))
}

const (
	// failuresHere and failuresAnywhere are how many wrong passwords or codes a person's
	// address may get, from one network within hereWindow and from all within
	// anywhereWindow. An attacker elsewhere cannot lock a person out with few attempts, nor
	// out of the person's own browsers: they have failuresHere of their own within hereWindow.
	failuresHere, failuresAnywhere = 10, 100
	hereWindow, anywhereWindow     = 15 * time.Minute, time.Hour // at most 100 in an hour: OWASP ASVS 4.0.3, 2.2.1
	// failuresOfNetwork is how many wrong passwords or codes a network may send in a
	// minute, for all addresses together.
	failuresOfNetwork = 30
	// renewalsPerHour is how often a person may make recovery codes in an hour. Each time is
	// an entry of the audit log.
	renewalsPerHour = 5
)

// Limits bounds wrong passwords and codes in this process.
type Limits struct {
	networks       *guess.Limiter
	here, anywhere *guess.Names
	// devices counts the attempts on each person by the person's own browsers; see recognises.
	devices *guess.Names
	// renewals counts how often a person makes recovery codes.
	renewals *guess.Names
}

// NewLimits returns limits without any failure.
func NewLimits(now func() core.Time) *Limits {
	clock := func() time.Time { return time.UnixMilli(int64(now())) }
	return &Limits{
		networks: guess.New(failuresOfNetwork, clock),
		here:     guess.NewNames(failuresHere, hereWindow, clock), anywhere: guess.NewNames(failuresAnywhere, anywhereWindow, clock),
		devices: guess.NewNames(failuresHere, hereWindow, clock), renewals: guess.NewNames(renewalsPerHour, time.Hour, clock),
	}
}

// here is the name under which failures on a person's address from one network count.
func here(v Visitor, email string) string { return guess.Network(v.Address) + " " + email }

// reserve counts an attempt to guess a password or code of the person with an address, in
// advance, so that attempts at the same time do not exceed the limits. If the attempt is
// not wrong, the caller calls giveBack. The error does not depend on whether there is such
// a person.
func (l *Limits) reserve(v Visitor, email string) (giveBack func(), err error) {
	if !l.networks.Take(v.Address) {
		return nil, &core.Error{Code: core.CodeRateLimited, Message: "too many wrong attempts from your network; wait a minute"}
	}
	tooMany := func(wait string) error {
		return &core.Error{Code: core.CodeRateLimited, Message: "too many wrong attempts; wait " + wait + ", use a browser in which you have signed in before, or ask for a link to reset the password"}
	}
	if !l.here.Take(here(v, email)) {
		l.networks.Give(v.Address)
		return nil, tooMany("15 minutes")
	}
	if !l.anywhere.Take(email) {
		l.here.Give(here(v, email))
		l.networks.Give(v.Address)
		return nil, tooMany("an hour")
	}
	return func() {
		l.anywhere.Give(email)
		l.here.Give(here(v, email))
		l.networks.Give(v.Address)
	}, nil
}

func (l *Limits) succeed(v Visitor, email string) {
	l.here.Succeed(here(v, email))
	l.anywhere.Succeed(email)
}

// The paths of links into the portal. A token follows.
const (
	InvitationPath = "/portal/invitation/"
	ResetPath      = "/portal/reset/"
)

// makeToken returns a new secret of 256 random bits, for a cookie or a link.
func makeToken(b *base.Base) string {
	var raw [32]byte
	b.Entropy(raw[:])
	return base64.RawURLEncoding.EncodeToString(raw[:])
}

// tokenHash returns the hash under which a token is stored.
func tokenHash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}
