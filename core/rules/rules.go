// Package rules decides what calls do: each is a function of what the call says and of
// the state that it meets, and changes that state. Nothing here reads or writes a
// database; see package state for how a call is decided when not all of what it needs
// is loaded.
package rules

import (
	"kith/core"
	"kith/core/auth"
	"kith/core/referral"
	"kith/core/state"
	"kith/core/webhook"
)

// Rules decides calls. All fields but TempDomains must be set; it is safe for
// concurrent use.
type Rules struct {
	Keys auth.Keyring
	// TempDomains are domains of disposable mail addresses besides those that
	// core/referral knows, in lower case; nil is none.
	TempDomains map[string]bool
	// Entropy fills its argument with random bytes that cannot be guessed.
	Entropy func([]byte)
}

// NewID returns an id that nothing has.
func (r *Rules) NewID(now core.Time) string { return core.NewID(now, r.Entropy6()) }

// Entropy6 returns random bytes.
func (r *Rules) Entropy6() (b [6]byte) {
	r.Entropy(b[:])
	return b
}

// emit notes an event for the tenant's own systems. data writes the event's JSON,
// which is not made when no endpoint is subscribed.
func (r *Rules) emit(s *state.State, t webhook.Type, data func() []byte) {
	if s.Listens() {
		s.Events.Add(state.Event{ID: r.NewID(s.Now), Type: t, Data: data()})
	}
}

// tempEmail reports whether the operator's list has the domain of an address.
func (r *Rules) tempEmail(address string) bool {
	return r.TempDomains != nil && referral.InDomains(referral.MailDomain(address), func(d string) bool { return r.TempDomains[d] })
}

// UnknownUser is the answer to a call about a user who was never identified.
func UnknownUser() *core.Error {
	return &core.Error{Code: core.CodeNotFound, RS: "RS042", Message: "there is no such user; identify the user first"}
}

// UnknownAccount is the answer to a call about an account that was never synced.
func UnknownAccount() *core.Error {
	return &core.Error{Code: core.CodeNotFound, RS: "RS041", Message: "there is no such account"}
}

// UnknownProgram is the answer to a key that no program of the tenant has.
func UnknownProgram() *core.Error { return core.NotFound("there is no such program") }
