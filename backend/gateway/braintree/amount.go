package braintree

import (
	"errors"
	"strconv"
	"strings"
)

// Amount is an amount of money as the gateway writes it: a decimal text such as
// "49.99", "250.0" or "-3.10". The empty Amount means no amount, which is not 0. It has
// no currency of its own; only transactions and plans name theirs.
type Amount string

// errAmount reports a text that is not an amount.
var errAmount = errors.New("gateway: not an amount: want a decimal of up to 12 digits before the point, and no more digits after it than its currency has")

// maxDigits bounds the digits before the point, so that minor units fit into an int64.
const maxDigits = 12

// exponent is the number of digits that a currency has after the point (ISO 4217); 2
// if not listed.
var exponent = map[string]int{
	"BIF": 0, "CLP": 0, "DJF": 0, "GNF": 0, "ISK": 0, "JPY": 0, "KMF": 0, "KRW": 0, "PYG": 0,
	"RWF": 0, "UGX": 0, "VND": 0, "VUV": 0, "XAF": 0, "XOF": 0, "XPF": 0,
	"BHD": 3, "IQD": 3, "JOD": 3, "KWD": 3, "LYD": 3, "OMR": 3, "TND": 3,
}

func digitsOf(currency string) int {
	if n, ok := exponent[currency]; ok {
		return n
	}
	return 2
}

// NewAmount writes minor units of a currency: 4999 USD is "49.99", 500 JPY is
// "500".
func NewAmount(minor int64, currency string) Amount {
	sign, digits := "", strconv.FormatInt(minor, 10)
	if minor < 0 {
		sign, digits = "-", digits[1:]
	}
	n := digitsOf(currency)
	if n == 0 {
		return Amount(sign + digits)
	}
	if short := n + 1 - len(digits); short > 0 {
		digits = strings.Repeat("0", short) + digits
	}
	point := len(digits) - n
	return Amount(sign + digits[:point] + "." + digits[point:])
}

// Minor returns the amount in minor units of a currency. Digits beyond those of the
// currency must be 0: nothing is rounded.
func (a Amount) Minor(currency string) (int64, error) {
	whole, fraction, err := a.split()
	if err != nil {
		return 0, err
	}
	n := digitsOf(currency)
	if len(fraction) > n {
		if strings.Trim(fraction[n:], "0") != "" {
			return 0, errAmount
		}
		fraction = fraction[:n]
	}
	digits := whole + fraction + strings.Repeat("0", n-len(fraction))
	minor, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0, errAmount
	}
	if strings.HasPrefix(string(a), "-") {
		minor = -minor
	}
	return minor, nil
}

// split returns the digits before and after the point.
func (a Amount) split() (whole, fraction string, err error) {
	whole, fraction, point := strings.Cut(strings.TrimPrefix(string(a), "-"), ".")
	if whole == "" || len(whole) > maxDigits || point && fraction == "" || len(fraction) > maxDigits {
		return "", "", errAmount
	}
	if strings.Trim(whole+fraction, "0123456789") != "" {
		return "", "", errAmount
	}
	return whole, fraction, nil
}
