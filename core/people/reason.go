package people

import (
	"strings"
	"unicode/utf8"

	"kith/core"
)

// MaxReason is the most bytes of a reason.
const MaxReason = 500

// ParseReason returns why a person makes a change, without blanks around it, or an error
// about field. The audit log keeps it.
func ParseReason(field, s string) (string, error) {
	s = strings.TrimSpace(s)
	control := func(r rune) bool { return r < ' ' || r == 0x7f }
	switch {
	case s == "":
		return "", core.Invalid(field, "is required; write in a few words why you do this")
	case len(s) > MaxReason:
		return "", core.Invalid(field, "must not be longer than 500 bytes; shorten it")
	case !utf8.ValidString(s) || strings.ContainsFunc(s, control):
		return "", core.Invalid(field, "must be one line of text; remove line breaks")
	}
	return s, nil
}
