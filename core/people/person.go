package people

import (
	"strings"
	"unicode/utf8"

	"kith/core"
)

const (
	// maxEmail is the longest address that mail servers accept (RFC 5321, 4.5.3.1.3).
	maxEmail = 254
	// maxName is the longest name of a person, in bytes.
	maxName = 200
)

const notAnAddress = "is not an address; give one like name@example.com"

// ParseEmail returns a mail address in the form in which addresses are compared: without
// surrounding spaces, and with a to z for A to Z. Other letters stay as they are: the lower
// case of the Kelvin sign is k, and an address with it is another person's. The error is
// about field.
func ParseEmail(field, s string) (string, error) {
	if !utf8.ValidString(s) {
		return "", core.Invalid(field, notAnAddress)
	}
	s = strings.Map(lowerASCII, strings.TrimSpace(s))
	name, domain, _ := strings.Cut(s, "@")
	// A domain without a dot is a machine of the operator's own network.
	if name == "" || domain == "" || len(s) > maxEmail || strings.Contains(domain, "@") ||
		strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`<>(),;:"\`, r) }) >= 0 {
		return "", core.Invalid(field, notAnAddress)
	}
	return s, nil
}

func lowerASCII(r rune) rune {
	if r >= 'A' && r <= 'Z' {
		r += 'a' - 'A'
	}
	return r
}

// ParseName returns the name of a person without surrounding spaces. It may be empty. The
// error is about field.
func ParseName(field, s string) (string, error) {
	s = strings.TrimSpace(s)
	if len(s) > maxName || !utf8.ValidString(s) || strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) >= 0 {
		return "", core.Invalid(field, "must be at most 200 bytes of one line; shorten it")
	}
	return s, nil
}

// Limits of people and their tenants.
const (
	// MaxMembers is the most members of a tenant, and MaxInvitations the most open
	// invitations.
	MaxMembers     = 500
	MaxInvitations = 200
	// MaxTenants is the most tenants that a person is a member of.
	MaxTenants = 200
	// MaxSessions is the most sessions of a person; a new one ends the oldest.
	MaxSessions = 20
)
