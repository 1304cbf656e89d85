package core

import (
	"strings"
	"unicode/utf8"
)

// TenantAlias names a tenant: 1 to 64 of A-Z a-z 0-9 - _. Live and test are two
// tenants, "acme" and "test_acme". It is the first part of every key and of
// every path (spec 1.8).
type TenantAlias string

// AccountID is the caller's own identifier of an account, often an e-mail
// address: 1 to 200 bytes of UTF-8 without control characters.
type AccountID string

// UserID is the caller's own identifier of a user, unique in its account; same
// form as AccountID.
type UserID string

// ReferralCode is the code that a referrer shares: 1 to 64 of A-Z a-z 0-9 - _. Codes
// are compared without regard to case and stored as first written.
type ReferralCode string

// Folded returns the code with which equal codes are compared: only the letters of ASCII have a
// case, as in the index of the codes. Others, such as the dotted İ, are no letters of a code.
func (c ReferralCode) Folded() string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, string(c))
}

// ProgramKey names a program of a tenant: 1 to 64 of A-Z a-z 0-9 -
// (clients 0.5). The program of a tenant that has only one is "classic".
type ProgramKey string

// IdempotencyKey makes an event call at-most-once: 8 to 64 of A-Z a-z 0-9 - _ .
// (spec 8.1, spec 8.2). Empty means that repeated calls are recorded again.
type IdempotencyKey string

// PaymentProviderID identifies an account's customer at the payment gateway; same
// form as AccountID.
type PaymentProviderID string

// ClassicProgram is the key of the program of a tenant that has only one.
const ClassicProgram ProgramKey = "classic"

const (
	maxName = 64
	maxID   = 200
)

// ParseTenantAlias returns s as an alias or a CodeNotFound error: an invalid alias
// gets the same error as an unknown one (RS038).
func ParseTenantAlias(s string) (TenantAlias, error) {
	if !word(s, 1, maxName, "-_") {
		return "", UnknownTenant()
	}
	return TenantAlias(s), nil
}

// UnknownTenant returns the error for an alias that no tenant has (clients 2.1.2).
func UnknownTenant() *Error {
	return &Error{Code: CodeNotFound, RS: "RS038", Message: "there is no tenant with this alias"}
}

// ParseAccountID returns s as an account id or an error about field.
func ParseAccountID(field, s string) (AccountID, error) {
	if err := checkID(field, s, "RS044"); err != nil {
		return "", err
	}
	return AccountID(s), nil
}

// ParseUserID returns s as a user id or an error about field.
func ParseUserID(field, s string) (UserID, error) {
	if err := checkID(field, s, "RS043"); err != nil {
		return "", err
	}
	return UserID(s), nil
}

// ParsePaymentProviderID returns s as a gateway customer id or an error about
// field.
func ParsePaymentProviderID(field, s string) (PaymentProviderID, error) {
	if err := checkID(field, s, "RS012"); err != nil {
		return "", err
	}
	return PaymentProviderID(s), nil
}

// ParseReferralCode returns s as a code or an error about field (RS034).
//
// Spec silent: clients 6.2.13 has 15 letters and digits; longer codes and the two
// separators are accepted too, because imported programs have them.
func ParseReferralCode(field, s string) (ReferralCode, error) {
	if !word(s, 1, maxName, "-_") {
		err := Invalid(field, "a referral code is 1 to 64 of A-Z a-z 0-9 - _")
		err.RS = "RS034"
		return "", err
	}
	return ReferralCode(s), nil
}

// ParseProgramKey returns s as a program key or an error about field.
func ParseProgramKey(field, s string) (ProgramKey, error) {
	if !word(s, 1, maxName, "-") {
		return "", Invalid(field, "a program key is 1 to 64 of A-Z a-z 0-9 -").InForm("must be 1 to 64 of A-Z a-z 0-9 -, without blanks")
	}
	return ProgramKey(s), nil
}

// ParseIdempotencyKey returns s as a key or an error (spec 8.1, spec 8.2). Use it for a key
// that a caller sent as a key; for a message id, use KeyFromMessageID.
func ParseIdempotencyKey(field, s string) (IdempotencyKey, error) {
	if !word(s, 8, maxName, "-_.") {
		return "", Invalid(field, "an idempotency key is 8 to 64 of A-Z a-z 0-9 - _ .")
	}
	return IdempotencyKey(s), nil
}

// KeyHeader is the header with the idempotency key of a call.
const KeyHeader = "Idempotency-Key"

// ParseKeyHeader returns the key in the value of KeyHeader, with or without the quotes of a
// structured field.
func ParseKeyHeader(value string) (IdempotencyKey, error) {
	if n := len(value) - 1; n > 0 && value[0] == '"' && value[n] == '"' {
		value = value[1:n]
	}
	return ParseIdempotencyKey(KeyHeader, value)
}

// KeyFromMessageID returns a pipeline's message id as a key, or "" if it does not
// have the form of a key: such an id is ignored without an error (spec 6.3).
func KeyFromMessageID(s string) IdempotencyKey {
	key, err := ParseIdempotencyKey("", s)
	if err != nil {
		return ""
	}
	return key
}

// ValidID reports whether a text has the form of a record id.
func ValidID(id string) bool { return len(id) == 24 && strings.Trim(id, "0123456789abcdef") == "" }

// NewID returns a record id of 24 hex digits: 6 bytes of now, so that ids sort by
// time, and 6 random bytes that the caller draws (clients 0.2).
func NewID(now Time, entropy [6]byte) string {
	const digits = "0123456789abcdef"
	var raw [12]byte
	for i := range 6 {
		raw[i] = byte(now >> (8 * (5 - i)))
	}
	copy(raw[6:], entropy[:])
	var id [24]byte
	for i, b := range raw {
		id[2*i], id[2*i+1] = digits[b>>4], digits[b&15]
	}
	return string(id[:])
}

// NextEntropy returns random bytes for the next id that is made at the same time, so that both
// sort in the order in which they were made.
func NextEntropy(entropy [6]byte) [6]byte {
	for i := len(entropy) - 1; i >= 0; i-- {
		if entropy[i]++; entropy[i] != 0 {
			break
		}
	}
	return entropy
}

// erasedPrefix begins the ids that replace those of deleted users and accounts.
// Callers cannot use such an id.
const erasedPrefix = "deleted:"

// Erased returns the id that replaces that of a deleted user or account. record is a
// new record id, from which the old id cannot be derived.
func Erased(record string) string { return erasedPrefix + record }

// IsErased reports whether an id replaces that of a deleted user or account.
func IsErased[ID ~string](id ID) bool {
	return len(id) == len(erasedPrefix)+24 && string(id[:len(erasedPrefix)]) == erasedPrefix
}

// word reports whether s is min to max bytes of letters, digits and extra.
func word(s string, minLen, maxLen int, extra string) bool {
	if len(s) < minLen || len(s) > maxLen {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !alnum(c) && !contains(extra, c) {
			return false
		}
	}
	return true
}

func alnum(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

func contains(set string, c byte) bool {
	for i := range len(set) {
		if set[i] == c {
			return true
		}
	}
	return false
}

// checkID also refuses "null" and "undefined", which browser scripts put in a path
// when they have no id (clients 7.1.1).
func checkID(field, s, rs string) error {
	reason := ""
	switch {
	case s == "" || s == "null" || s == "undefined":
		reason = "must not be empty"
	case len(s) > maxID:
		reason = "must not be longer than 200 bytes"
	case !utf8.ValidString(s) || hasControl(s):
		reason = "must be UTF-8 without control characters"
	case IsErased(s):
		reason = "must not be the id of a deleted account or user"
	default:
		return nil
	}
	err := Invalid(field, reason)
	err.RS = rs
	return err
}

func hasControl(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] == 0x7f {
			return true
		}
	}
	return false
}

// OneOf returns the value that s names, in any case of its letters; ok is false if there is
// none.
func OneOf[T ~string](s string, values ...T) (value T, ok bool) {
	for _, v := range values {
		if strings.EqualFold(s, string(v)) {
			return v, true
		}
	}
	return "", false
}

// ParseOneOf returns the value that s names, in any case of its letters, or an error about field
// that lists the values.
func ParseOneOf[T ~string](field, s string, values ...T) (T, error) {
	if value, ok := OneOf(s, values...); ok {
		return value, nil
	}
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = string(v)
	}
	return "", Invalid(field, "must be one of "+strings.Join(names, ", "))
}
