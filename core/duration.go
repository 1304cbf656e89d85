package core

import (
	"strconv"
	"strings"
)

// maxDuration is the longest duration that ParseDuration accepts: 100 years.
const maxDuration = 36500 * Day

// ParseDuration returns an ISO 8601 duration, such as "P30D" or "PT12H", or an error
// about field. Weeks, days, hours, minutes and seconds are supported. Months and
// years, whose length varies, and fractions are refused.
func ParseDuration(field, s string) (Time, error) {
	bad := Invalid(field, "must be an ISO 8601 duration of weeks, days, hours, minutes and seconds, such as P30D or PT12H")
	if len(s) < 3 || len(s) > 32 || s[0] != 'P' {
		return 0, bad
	}
	total, from, rank, clock := Time(0), 1, 0, false
	for i := 1; i < len(s); i++ {
		c := s[i]
		switch {
		case '0' <= c && c <= '9':
			continue
		case c == 'T' && !clock && from == i && i+1 < len(s):
			clock = true
		default:
			unit, at := durationUnit(c, clock)
			n, err := strconv.ParseInt(s[from:i], 10, 32)
			// Each unit occurs at most once, longer units before shorter ones.
			if unit == 0 || at <= rank || err != nil {
				return 0, bad
			}
			total, rank = total+Time(n)*unit, at
			if total > maxDuration {
				return 0, Invalid(field, "must not be longer than 36500 days")
			}
		}
		from = i + 1
	}
	if from < len(s) || rank == 0 {
		return 0, bad
	}
	return total, nil
}

// durationUnit returns the length of a unit and its rank: longer units have lower
// ranks. Both are 0 for an unknown unit.
func durationUnit(c byte, clock bool) (unit Time, at int) {
	switch {
	case c == 'W' && !clock:
		return 7 * Day, 1
	case c == 'D' && !clock:
		return Day, 2
	case c == 'H' && clock:
		return Hour, 3
	case c == 'M' && clock:
		return Minute, 4
	case c == 'S' && clock:
		return Second, 5
	}
	return 0, 0
}

// FormatDuration returns a duration as ISO 8601, in days, hours, minutes and seconds.
// A fraction of a second is dropped.
func FormatDuration(d Time) string {
	s := "P"
	add := func(unit Time, letter string) {
		if n := d / unit; n > 0 {
			s += strconv.FormatInt(int64(n), 10) + letter
			d -= n * unit
		}
	}
	add(Day, "D")
	if d >= Second {
		s += "T"
		add(Hour, "H")
		add(Minute, "M")
		add(Second, "S")
	}
	if s == "P" {
		return "PT0S"
	}
	return s
}

// Count returns a number with its noun.
func Count(n int64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.FormatInt(n, 10) + " " + noun
}

// InWords returns a duration in words: "1 day and 2 hours".
func InWords(d Time) string {
	var parts []string
	for _, unit := range []struct {
		length Time
		name   string
	}{{Day, "day"}, {Hour, "hour"}, {Minute, "minute"}, {Second, "second"}} {
		if n := d / unit.length; n > 0 {
			parts = append(parts, Count(int64(n), unit.name))
			d -= n * unit.length
		}
	}
	return Listed(parts, "and")
}

// Listed returns texts as one: "a", "a and b", "a, b and c".
func Listed(all []string, and string) string {
	if len(all) < 2 {
		return strings.Join(all, "")
	}
	last := len(all) - 1
	return strings.Join(all[:last], ", ") + " " + and + " " + all[last]
}
