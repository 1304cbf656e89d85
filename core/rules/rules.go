// Package rules decides calls: each function takes a call and the state, and changes
// the state. It does not read or write a database; see package state for calls that
// need rows that are not loaded.
package rules

import (
	"kith/core"
	"kith/core/auth"
	"kith/core/referral"
	"kith/core/state"
	"kith/core/webhook"
)

// Rules decides calls. All fields except TempDomains must be set. It is safe for
// concurrent use.
type Rules struct {
	Keys auth.Keyring
	// TempDomains are further domains of disposable mail addresses, in lower case, in
	// addition to those in core/referral. It may be nil.
	TempDomains map[string]bool
	// Entropy fills its argument with cryptographically secure random bytes.
	Entropy func([]byte)
}

// newID returns a new record id. The ids of one state sort in the order in which they were made.
func (r *Rules) newID(s *state.State) string {
	if s.Entropy == [6]byte{} {
		s.Entropy = r.Entropy6()
	}
	s.Entropy = core.NextEntropy(s.Entropy)
	return core.NewID(s.Now, s.Entropy)
}

// Entropy6 returns random bytes.
func (r *Rules) Entropy6() (b [6]byte) {
	r.Entropy(b[:])
	return b
}

// emit adds a webhook event. data returns the event's JSON; it is called only if an
// endpoint is subscribed.
func (r *Rules) emit(s *state.State, t webhook.Type, data func() []byte) {
	if s.Listens() {
		s.Events.Add(state.Event{ID: r.newID(s), Type: t, Data: data()})
	}
}

// tempEmail reports whether TempDomains has the domain of an address.
func (r *Rules) tempEmail(address string) bool {
	return r.TempDomains != nil && referral.InDomains(referral.MailDomain(address), func(d string) bool { return r.TempDomains[d] })
}

// UnknownUser returns the error for a user who was never identified.
func UnknownUser() *core.Error {
	return &core.Error{Code: core.CodeNotFound, RS: "RS042", Message: "there is no such user; identify the user first"}
}

// UnknownAccount returns the error for an account that does not exist.
func UnknownAccount() *core.Error {
	return &core.Error{Code: core.CodeNotFound, RS: "RS041", Message: "there is no such account"}
}

// UnknownProgram returns the error for a key that no program of the tenant has.
func UnknownProgram() *core.Error { return core.NotFound("there is no such program") }
