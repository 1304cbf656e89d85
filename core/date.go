package core

import "strconv"

// ParseTime parses a time in RFC 3339 with any offset, without a zone, or only a day; the last
// two are in UTC. It also accepts epoch milliseconds.
func ParseTime(field, text string) (Time, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 {
		if err := CheckMillis(field, n); err != nil {
			return 0, err
		}
		return Time(n), nil
	}
	if at, ok := ParseDate(text); ok {
		return at, nil
	}
	return 0, NoTime(field)
}

// NoTime returns the error for a text that is no time.
func NoTime(field string) *Error {
	return Invalid(field, "must be a time in epoch milliseconds, or as text such as 2026-03-01, 2026-03-01T09:00:00 (UTC) or 2026-03-01T09:00:00+01:00")
}

// maxSeconds is above all numbers that look like seconds.
const maxSeconds = 1e11

// CheckMillis refuses times that look like seconds (from 1973 on) or microseconds: taken as
// milliseconds they would be in January 1970, or after the year 5000. It also refuses the digits
// of a date.
func CheckMillis(field string, n int64) *Error {
	unit := ""
	switch {
	case n >= 1e8 && n < maxSeconds:
		unit = "seconds"
	case n >= 1e14:
		unit = "microseconds"
	case isCalendar(n):
		unit = "a date; write it as 2026-03-01 or 2026-03-01T09:00:00Z"
	default:
		return nil
	}
	return Invalid(field, "milliseconds expected: "+strconv.FormatInt(n, 10)+" looks like "+unit)
}

// isCalendar reports whether n has the digits of a date from 1900 to 2100, as YYYYMMDD,
// YYYYMMDDhhmm or YYYYMMDDhhmmss. As milliseconds these are in the first six hours of 1970, from
// January to August 1976, or after the year 2570: no time of a shop is lost.
func isCalendar(n int64) bool {
	switch {
	case n < 0:
		return false
	case n < 1e8:
		n *= 1e6
	case n < 1e12:
		n *= 100
	}
	year, month, day := n/1e10, n/1e8%100, n/1e6%100
	return year >= 1900 && year <= 2100 && month >= 1 && month <= 12 && day >= 1 && day <= daysOf(year, month) &&
		n/1e4%100 < 24 && n/100%100 < 60 && n%100 < 60
}

// ParseDate parses a time in RFC 3339 with any offset, without a zone, or only a day; the
// last two are in UTC. It returns false for any other text, and for times before 1970.
//
// It is not time.Parse, with which the component would be 20 kB larger.
func ParseDate(text string) (Time, bool) {
	p := dateParser{rest: text}
	year, month, day := p.number(4), p.after('-', 2), p.after('-', 2)
	seconds := int64(0)
	fraction := Time(0)
	if p.rest != "" {
		if c := p.rest[0]; c != 'T' && c != ' ' {
			return 0, false
		}
		p.rest = p.rest[1:]
		hour, minute, second := p.number(2), p.after(':', 2), p.after(':', 2)
		if hour > 23 || minute > 59 || second > 59 {
			return 0, false
		}
		seconds = hour*3600 + minute*60 + second
		fraction = p.fraction()
		seconds -= p.offset()
	}
	if p.failed || p.rest != "" || month < 1 || month > 12 || day < 1 || day > daysOf(year, month) {
		return 0, false
	}
	at := Time(daysSince1970(year, month, day)*86400+seconds)*Second + fraction
	return at, at >= 0
}

// dateParser takes the parts of a date from the beginning of a text.
type dateParser struct {
	rest   string
	failed bool
}

// number takes a number of so many digits.
func (p *dateParser) number(digits int) (n int64) {
	if len(p.rest) < digits {
		p.failed = true
		return 0
	}
	for i := range digits {
		c := p.rest[i]
		if c < '0' || c > '9' {
			p.failed = true
			return 0
		}
		n = n*10 + int64(c-'0')
	}
	p.rest = p.rest[digits:]
	return n
}

// after takes a byte and then a number.
func (p *dateParser) after(c byte, digits int) int64 {
	if p.failed || p.rest == "" || p.rest[0] != c {
		p.failed = true
		return 0
	}
	p.rest = p.rest[1:]
	return p.number(digits)
}

// fraction takes the fraction of a second, if there is one, in whole milliseconds.
func (p *dateParser) fraction() (ms Time) {
	if p.failed || p.rest == "" || p.rest[0] != '.' {
		return 0
	}
	n := 1
	for ; n < len(p.rest) && p.rest[n] >= '0' && p.rest[n] <= '9'; n++ {
		if n <= 3 {
			ms = ms*10 + Time(p.rest[n]-'0')
		}
	}
	for i := n; i <= 3; i++ {
		ms *= 10
	}
	p.failed = n == 1
	p.rest = p.rest[n:]
	return ms
}

// offset takes the zone, if there is one, as seconds east of UTC.
func (p *dateParser) offset() int64 {
	if p.failed || p.rest == "" {
		return 0
	}
	sign := int64(1)
	switch p.rest[0] {
	case 'Z':
		p.rest = p.rest[1:]
		return 0
	case '-':
		sign = -1
	case '+':
	default:
		p.failed = true
		return 0
	}
	hour, minute := p.after(p.rest[0], 2), p.after(':', 2)
	p.failed = p.failed || hour > 24 || minute > 60 // as time.Parse
	return sign * (hour*3600 + minute*60)
}

func daysOf(year, month int64) int64 {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// daysSince1970 counts years from March, so that a leap day is the last of its year.
func daysSince1970(year, month, day int64) int64 {
	if month < 3 {
		year, month = year-1, month+12
	}
	return 365*year + year/4 - year/100 + year/400 + (153*(month-3)+2)/5 + day - 1 - 719468
}
