package core

import (
	"strconv"
	"strings"
)

// Span is a range of time that includes From and excludes Before. Zero means no limit
// on that side.
type Span struct{ From, Before Time }

// Open reports whether the span has no limits.
func (s Span) Open() bool { return s == Span{} }

// ParseSpan parses "ts", one instant, or "from,to", a range that includes both, in
// epoch milliseconds (clients 1.4.4). The error is about field.
func ParseSpan(field, s string) (Span, error) {
	from, to, pair := strings.Cut(s, ",")
	if !pair {
		to = from
	}
	a, errA := strconv.ParseInt(from, 10, 62)
	b, errB := strconv.ParseInt(to, 10, 62)
	if errA != nil || errB != nil || a < 0 || a > b {
		return Span{}, Invalid(field, "must be a time in epoch milliseconds, or two separated by a comma, the earlier first")
	}
	return Span{From: Time(a), Before: Time(b) + 1}, nil
}
