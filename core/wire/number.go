package wire

import (
	"strconv"
	"strings"
)

// number is the exact value of a JSON number: digits × 10^exponent, or its negative.
// Equal values are equal structs, because digits has no leading or trailing zeros,
// and zero is number{}.
type number struct {
	digits   string
	exponent int64
	negative bool
}

// maxExponent is the most digits of an exponent.
const maxExponent = 15

// parseNumber parses a number in any JSON notation. ok is false if the exponent has
// more than maxExponent digits.
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

// sameNumber reports whether two JSON numbers have the same value. Numbers with
// exponents above maxExponent are the same if their texts are equal.
func sameNumber(a, b string) bool {
	if a == b {
		return true
	}
	x, okX := parseNumber(a)
	y, okY := parseNumber(b)
	return okX && okY && x == y
}

// wholeNumber returns the value of a number that is an integer of 64 bits, in any
// notation: 5, 5.0 and 0.5e1.
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

// plainDecimal returns a number without an exponent; ok is false if it would have
// more than most characters.
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

// plain returns a number without an exponent.
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
