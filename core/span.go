package core

import (
	"strconv"
	"strings"
)

// Span is a stretch of time: From belongs to it, Before does not. Zero means
// that the span has no such end.
type Span struct{ From, Before Time }

// Open reports whether the span holds all times.
func (s Span) Open() bool { return s == Span{} }

// ParseSpan returns "ts" as that instant and "from,to" as what lies between the
// two, both included, all in epoch milliseconds (reference, 1.4), or an error
// about field.
func ParseSpan(field, s string) (Span, error) {
	from, to, pair := strings.Cut(s, ",")
	if !pair {
		to = from
	}
	a, errA := strconv.ParseInt(from, 10, 62)
	b, errB := strconv.ParseInt(to, 10, 62)
	if errA != nil || errB != nil || a < 0 || a > b {
		return Span{}, Invalid(field, "must be a time in epoch milliseconds, or two with a comma between, the earlier first")
	}
	return Span{From: Time(a), Before: Time(b) + 1}, nil
}
