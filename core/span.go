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

// Bound returns an end of a span that a caller gave: at the earliest 1 ms after the beginning of
// 1970, because zero is no limit.
func Bound(given Time) Time { return max(given, 1) }

// ParseSpan parses "ts", one instant, or "from,to", a range that includes both, in epoch
// milliseconds (clients 1.4.4) or as dates. The error is about field.
func ParseSpan(field, s string) (Span, error) {
	from, to, pair := strings.Cut(s, ",")
	if !pair {
		to = from
	}
	a, okA := bound(from)
	b, okB := bound(to)
	for _, end := range [...]Time{a, b} {
		if end < 1e14 {
			if err := CheckMillis(field, int64(end)); err != nil {
				return Span{}, err
			}
		}
	}
	if !okA || !okB || a > b {
		return Span{}, Invalid(field, "must be a time in epoch milliseconds, or two separated by a comma, the earlier first")
	}
	return Span{From: a, Before: b + 1}, nil
}

// bound parses an end of a span. It may be far away, but not look like seconds or a date.
func bound(s string) (Time, bool) {
	if n, err := strconv.ParseInt(s, 10, 62); err == nil {
		return Time(n), n >= 0
	}
	return ParseDate(s)
}
