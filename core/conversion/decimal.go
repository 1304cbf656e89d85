package conversion

import (
	"math/bits"
	"strconv"
	"strings"

	"kith/core"
	"kith/core/reward"
)

// maxDecimal is the most bytes of the text of a Decimal: as many as the largest number of a
// float64 has digits, and more.
const maxDecimal = 400

// Decimal is an exact decimal number. The zero value is 0.
type Decimal struct {
	negative bool
	// digits has neither leading nor trailing zeros; it is empty for 0.
	digits string
	// exponent is the power of ten of the last digit.
	exponent int
}

// ParseDecimal returns the number in s, a JSON number such as 12.50, -3 or 1e3, of at
// most 400 bytes. ok is false for any other text.
func ParseDecimal(s string) (d Decimal, ok bool) {
	if len(s) > maxDecimal {
		return d, false
	}
	s, d.negative = strings.CutPrefix(s, "-")
	mantissa := s
	if at := strings.IndexAny(s, "eE"); at >= 0 {
		exponent, err := strconv.ParseInt(s[at+1:], 10, 16)
		if err != nil {
			return Decimal{}, false
		}
		mantissa, d.exponent = s[:at], int(exponent)
	}
	whole, fraction, pointed := strings.Cut(mantissa, ".")
	if !core.Digits(whole) || pointed && !core.Digits(fraction) {
		return Decimal{}, false
	}
	d.exponent -= len(fraction)
	all := strings.TrimLeft(whole+fraction, "0")
	d.digits = strings.TrimRight(all, "0")
	d.exponent += len(all) - len(d.digits)
	if d.digits == "" {
		return Decimal{}, true
	}
	return d, true
}

// Negative reports whether the number is less than 0.
func (d Decimal) Negative() bool { return d.sign() < 0 }

// Compare returns -1, 0 or 1: whether d is less than, equal to or greater than o.
func (d Decimal) Compare(o Decimal) int {
	switch {
	case d.sign() != o.sign():
		if d.sign() < o.sign() {
			return -1
		}
		return 1
	case d.negative:
		return o.magnitude(d)
	}
	return d.magnitude(o)
}

func (d Decimal) sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.negative:
		return -1
	}
	return 1
}

// magnitude compares the absolute values.
func (d Decimal) magnitude(o Decimal) int {
	if a, b := len(d.digits)+d.exponent, len(o.digits)+o.exponent; a != b && d.digits != "" && o.digits != "" {
		if a < b {
			return -1
		}
		return 1
	}
	return strings.Compare(d.digits, o.digits)
}

// Minor returns the absolute value in minor units of a currency, rounded half to even.
// ok is false above limit.
func (d Decimal) Minor(currency string, limit int64) (minor int64, ok bool) {
	power := d.exponent + reward.MinorDigits(currency)
	kept := len(d.digits) + power
	switch {
	case kept < 0 || d.digits == "":
		return 0, true
	case kept > 18:
		return 0, false
	case power >= 0:
		minor, _ = strconv.ParseInt(d.digits+strings.Repeat("0", power), 10, 64)
		return minor, minor <= limit
	}
	if kept > 0 {
		minor, _ = strconv.ParseInt(d.digits[:kept], 10, 64)
	}
	rest := d.digits[kept:]
	if rest > "5" || rest == "5" && minor%2 == 1 {
		minor++
	}
	return minor, minor <= limit
}

// portion returns value * part / whole, rounded half to even. No argument is negative,
// part is at most whole, and whole is not 0.
func portion(value, part, whole int64) int64 {
	high, low := bits.Mul64(uint64(value), uint64(part))
	quotient, rest := bits.Div64(high, low, uint64(whole))
	// rest is less than whole, which is at most 1<<63 - 1.
	if double := rest * 2; double > uint64(whole) || double == uint64(whole) && quotient%2 == 1 {
		quotient++
	}
	return int64(quotient)
}
