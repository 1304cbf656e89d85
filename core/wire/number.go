package wire

import (
	"strconv"
	"strings"
)

// number is the exact value of a JSON number: digits × 10^exponent, negative or
// not. Equal values are equal structs: digits begins and ends with no zero, and
// zero is number{}.
type number struct {
	digits   string
	exponent int64
	negative bool
}

// maxExponent bounds an exponent as it is written, in digits.
const maxExponent = 15

// parseNumber reads a number in any notation of JSON. It is not ok for one whose
// exponent is beyond maxExponent; such a number has no use here.
func parseNumber(text string) (n number, ok bool) {
	text, n.negative = strings.CutPrefix(text, "-")
	mantissa := text
	if at := strings.IndexAny(text, "eE"); at >= 0 {
		mantissa = text[:at]
		if n.exponent, ok = parseExponent(text[at+1:]); !ok {
			return number{}, false
		}
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	n.exponent -= int64(len(fraction))
	all := strings.TrimLeft(whole+fraction, "0")
	n.digits = strings.TrimRight(all, "0")
	n.exponent += int64(len(all) - len(n.digits))
	if n.digits == "" {
		return number{}, true
	}
	return n, true
}

func parseExponent(text string) (int64, bool) {
	sign, digits := int64(1), strings.TrimPrefix(text, "+")
	if strings.HasPrefix(text, "-") {
		sign, digits = -1, text[1:]
	}
	digits = strings.TrimLeft(digits, "0")
	if len(digits) > maxExponent {
		return 0, false
	}
	if digits == "" {
		return 0, true
	}
	exponent, err := strconv.ParseInt(digits, 10, 64)
	return sign * exponent, err == nil
}

// sameNumber reports whether two JSON numbers have one value. Two whose exponents
// are beyond maxExponent are the same if they are written alike.
func sameNumber(a, b string) bool {
	if a == b {
		return true
	}
	x, okX := parseNumber(a)
	y, okY := parseNumber(b)
	return okX && okY && x == y
}

// wholeNumber returns a number that is an integer and fits into 64 bits, in whichever
// notation it is written: 5, 5.0 and 0.5e1.
func wholeNumber(text string) (int64, bool) {
	const most = len("9223372036854775807")
	n, ok := parseNumber(text)
	if !ok || n.exponent < 0 || n.exponent+int64(len(n.digits)) > int64(most) {
		return 0, false
	}
	plain := n.plain()
	i, err := strconv.ParseInt(plain, 10, 64)
	return i, err == nil
}

// plainDecimal returns a number without an exponent. It is not ok for one that
// would have more than most characters.
func plainDecimal(text string, most int) (string, bool) {
	if !strings.ContainsAny(text, "eE") {
		return text, len(text) <= most
	}
	n, ok := parseNumber(text)
	if !ok || n.exponent > int64(most) || -n.exponent > int64(most) || len(n.digits) > most {
		return "", false
	}
	plain := n.plain()
	return plain, len(plain) <= most
}

// plain writes a number without an exponent.
func (n number) plain() string {
	digits, sign := n.digits, ""
	if n.negative {
		sign = "-"
	}
	switch after := int(-n.exponent); {
	case digits == "":
		return "0"
	case after <= 0:
		return sign + digits + strings.Repeat("0", -after)
	case after < len(digits):
		return sign + digits[:len(digits)-after] + "." + digits[len(digits)-after:]
	default:
		return sign + "0." + strings.Repeat("0", after-len(digits)) + digits
	}
}
