package core

import (
	"strings"
	"testing"
)

// formCase is one text and whether it has the form of an identifier.
type formCase struct {
	name string
	text string
	ok   bool
}

// everyByte is one case for each byte value, in the middle of a long word.
func everyByte(allowed string) []formCase {
	cases := make([]formCase, 0, 256)
	for c := range 256 {
		b := byte(c)
		cases = append(cases, formCase{
			name: "byte " + string("0123456789abcdef"[b>>4]) + string("0123456789abcdef"[b&15]),
			text: "abcd" + string([]byte{b}) + "efgh",
			ok:   alnum(b) || strings.IndexByte(allowed, b) >= 0,
		})
	}
	return cases
}

func checkForm(t *testing.T, cases []formCase, parse func(s string) (string, error)) {
	t.Helper()
	for _, c := range cases {
		got, err := parse(c.text)
		if (err == nil) != c.ok {
			t.Errorf("%s: %q: error %v, want accepted: %v", c.name, c.text, err, c.ok)
		}
		if err == nil && got != c.text {
			t.Errorf("%s: %q became %q", c.name, c.text, got)
		}
		if err != nil && got != "" {
			t.Errorf("%s: a refused %q was returned as %q", c.name, c.text, got)
		}
	}
}

func TestParseIdempotencyKey(t *testing.T) {
	cases := append(everyByte("-_."), []formCase{
		{"7 characters", strings.Repeat("k", 7), false},
		{"8 characters", strings.Repeat("k", 8), true},
		{"64 characters", strings.Repeat("k", 64), true},
		{"65 characters", strings.Repeat("k", 65), false},
		{"empty", "", false},
		{"UUID v4", "8c2ab3a5-5a4f-4c3e-9d7a-0f1b2c3d4e5f", true},
		{"digits", "01234567", true},
		{"separators only", "-_.-_.-_", true},
		{"letter beyond ASCII", "schlüssel", false},
		{"blank at the end", "12345678 ", false},
	}...)
	checkForm(t, cases, func(s string) (string, error) {
		key, err := ParseIdempotencyKey("idempotencyKey", s)
		return string(key), err
	})
}

// A message id that does not have the form of a key is ignored without an error
// (spec 6.3).
func TestKeyFromMessageID(t *testing.T) {
	for text, want := range map[string]IdempotencyKey{
		"ajs-next-0123456789ab":  "ajs-next-0123456789ab",
		"12345678":               "12345678",
		"1234567":                "",
		"":                       "",
		strings.Repeat("m", 64):  IdempotencyKey(strings.Repeat("m", 64)),
		strings.Repeat("m", 65):  "",
		"api:1234567890":         "",
		"message id with blanks": "",
	} {
		if got := KeyFromMessageID(text); got != want {
			t.Errorf("KeyFromMessageID(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestParseNames(t *testing.T) {
	length := []formCase{
		{"empty", "", false}, {"1", "a", true},
		{"64", strings.Repeat("a", 64), true}, {"65", strings.Repeat("a", 65), false},
	}
	checkForm(t, append(everyByte("-_"), length...), func(s string) (string, error) {
		v, err := ParseTenantAlias(s)
		return string(v), err
	})
	checkForm(t, append(everyByte("-_"), length...), func(s string) (string, error) {
		v, err := ParseReferralCode("code", s)
		return string(v), err
	})
	checkForm(t, append(everyByte("-"), length...), func(s string) (string, error) {
		v, err := ParseProgramKey("program", s)
		return string(v), err
	})
}

func TestParseIDs(t *testing.T) {
	cases := []formCase{
		{"e-mail address", "a+b@example.com", true},
		{"slash and percent", "a/b%2F", true},
		{"beyond ASCII", "Jürgen 日本", true},
		{"200 bytes", strings.Repeat("x", 200), true},
		{"201 bytes", strings.Repeat("x", 201), false},
		{"201 bytes in 101 letters", strings.Repeat("ü", 100) + "x", false},
		{"empty", "", false},
		{"null of a script", "null", false},
		{"undefined of a script", "undefined", false},
		{"begins like null", "nullable", true},
		{"line feed", "a\nb", false},
		{"NUL", "a\x00b", false},
		{"DEL", "a\x7fb", false},
		{"cut UTF-8", "a\xc3", false},
	}
	checkForm(t, cases, func(s string) (string, error) {
		v, err := ParseAccountID("accountId", s)
		return string(v), err
	})
	checkForm(t, cases, func(s string) (string, error) {
		v, err := ParseUserID("id", s)
		return string(v), err
	})
	checkForm(t, cases, func(s string) (string, error) {
		v, err := ParsePaymentProviderID("paymentProviderId", s)
		return string(v), err
	})
}

// Clients distinguish the causes by these numbers (clients 6.2).
func TestParse_Numbers(t *testing.T) {
	_, alias := ParseTenantAlias("a b")
	_, account := ParseAccountID("accountId", "")
	_, user := ParseUserID("id", "")
	_, payment := ParsePaymentProviderID("paymentProviderId", "")
	_, code := ParseReferralCode("code", "")
	for _, c := range []struct {
		err  error
		code Code
		rs   string
	}{
		{alias, CodeNotFound, "RS038"},
		{account, CodeInvalid, "RS044"},
		{user, CodeInvalid, "RS043"},
		{payment, CodeInvalid, "RS012"},
		{code, CodeInvalid, "RS034"},
	} {
		e, ok := c.err.(*Error)
		if !ok || e.Code != c.code || e.RS != c.rs {
			t.Errorf("error %#v, want code %d and %s", c.err, c.code, c.rs)
		}
	}
}

func TestNewID(t *testing.T) {
	got := NewID(0x0123456789ab, [6]byte{0xcd, 0xef, 0, 1, 0xfe, 0xff})
	if want := "0123456789abcdef0001feff"; got != want {
		t.Errorf("NewID = %q, want %q", got, want)
	}
	if got, want := NewID(0, [6]byte{}), strings.Repeat("0", 24); got != want {
		t.Errorf("NewID of nothing = %q, want %q", got, want)
	}
}

func TestNewID_SortsByTime(t *testing.T) {
	full := [6]byte{255, 255, 255, 255, 255, 255}
	times := []Time{0, 1, 255, 256, Day, 1_700_000_000_000, 1_700_000_000_001, 9_000_000_000_000}
	for i := 1; i < len(times); i++ {
		before, after := NewID(times[i-1], full), NewID(times[i], [6]byte{})
		if before >= after {
			t.Errorf("the id of %d, %s, does not sort before that of %d, %s", times[i-1], before, times[i], after)
		}
	}
}

func TestError(t *testing.T) {
	if got, want := Invalid("events[0].key", "is required").Error(), "events[0].key: is required"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := NotFound("no such thing").Error(), "no such thing"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	cause := Invalid("", "cause")
	if got := (&Error{Err: cause}).Unwrap(); got != error(cause) {
		t.Errorf("Unwrap = %v", got)
	}
	if got := (&Error{}).Code; got != CodeInternal {
		t.Errorf("an error without a code has %d, want CodeInternal", got)
	}
}

// Codes are stored and sent: their numbers must not change.
func TestCodes(t *testing.T) {
	want := []Code{
		CodeInternal, CodeInvalid, CodeMalformed, CodeUnauthenticated, CodeForbidden, CodeNotFound,
		CodeMethodNotAllowed, CodeConflict, CodeTooLarge, CodeMediaType, CodeUnavailable, CodeNotSupported, CodeRateLimited, CodeTimeout,
		CodeBadGateway,
	}
	got := Codes()
	if len(got) != len(want) {
		t.Fatalf("%d codes, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] || int(want[i]) != i {
			t.Errorf("code %d is %d, want %d", i, got[i], want[i])
		}
	}
}
