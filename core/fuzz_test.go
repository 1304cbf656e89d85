//go:build !tinygo

package core

import (
	"errors"
	"testing"
	"unicode/utf8"
)

func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "null", "acme", "test_acme", "a@b.c", "12345678", "P1DT12H", "a\x00", "\xff", "é"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		_, alias := ParseTenantAlias(s)
		_, account := ParseAccountID("a", s)
		_, user := ParseUserID("u", s)
		_, payment := ParsePaymentProviderID("p", s)
		_, code := ParseReferralCode("c", s)
		_, program := ParseProgramKey("g", s)
		_, key := ParseIdempotencyKey("k", s)
		length, duration := ParseDuration("d", s)
		for _, err := range []error{alias, account, user, payment, code, program, key, duration} {
			var e *Error
			if err != nil && (!errors.As(err, &e) || e.Code == CodeInternal) {
				t.Errorf("%q: %#v is not an error with a code for the caller", s, err)
			}
		}
		if account == nil && (s == "" || len(s) > 200 || !utf8.ValidString(s)) {
			t.Errorf("%q was accepted as an account id", s)
		}
		if again, err := ParseDuration("d", FormatDuration(length)); duration == nil && (err != nil || again != length) {
			t.Errorf("%q is written as %s and read as %d, %v", s, FormatDuration(length), again, err)
		}
		if program == nil && code != nil || code == nil && alias != nil {
			t.Errorf("%q: a program key must be a code, and a code an alias", s)
		}
		if got := KeyFromMessageID(s); (got != "") != (key == nil) {
			t.Errorf("%q: KeyFromMessageID %q, ParseIdempotencyKey %v", s, got, key)
		}
	})
}
