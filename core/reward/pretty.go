package reward

import (
	"strconv"
	"strings"
)

// Format is the format of a value for people (clients 1.11.13).
type Format string

const (
	// UnitFormatted is a number with its unit: "$1,234.50", "10%", "5 POINT".
	UnitFormatted Format = "UNIT_FORMATTED"
	// NumberFormatted is a number alone: "1,234.50".
	NumberFormatted Format = "NUMBER_FORMATTED"
	// IntegerFormatted is a number rounded half up to a whole one: "1,235".
	IntegerFormatted Format = "INTEGER_FORMATTED"
	// NumberUnformatted has no thousands separators: "1234.50".
	NumberUnformatted Format = "NUMBER_UNFORMATTED"
	// IntegerUnformatted is a rounded number without thousands separators: "1235".
	IntegerUnformatted Format = "INTEGER_UNFORMATTED"
)

// symbols are written before an amount. The code of any other currency is written
// after it.
var symbols = map[string]string{"USD": "$", "EUR": "€", "GBP": "£", "CAD": "CA$", "AUD": "A$", "JPY": "¥"}

// Pretty formats a value for people, in English. The value is in basis points if the
// unit is UnitPercent, in minor units if the unit is UnitCents with a currency or
// names a currency, as in CASH/USD, and a plain number otherwise. Minor units have the
// decimals of their currency; see MinorDigits.
//
// Spec silent: the names of the formats are published, but not their rules
// (clients 1.11.13).
func Pretty(value int64, unit, currency string, f Format) string {
	if _, named, found := strings.Cut(unit, "/"); found {
		unit, currency = UnitCents, named
	}
	fraction := 0
	switch {
	case unit == UnitPercent:
		fraction = percentDigits(value)
		for range 2 - fraction {
			value /= 10
		}
	case unit == UnitCents && currency != "":
		fraction = MinorDigits(currency)
	}
	if f == IntegerFormatted || f == IntegerUnformatted {
		value, fraction = rounded(value, fraction), 0
	}
	number := grouped(value, fraction, f != NumberUnformatted && f != IntegerUnformatted)
	if f != UnitFormatted {
		return number
	}
	return withUnit(number, unit, currency)
}

// percentDigits returns the number of decimals of a percentage, without trailing
// zeros.
func percentDigits(basisPoints int64) int {
	switch {
	case basisPoints%100 == 0:
		return 0
	case basisPoints%10 == 0:
		return 1
	}
	return 2
}

func rounded(value int64, fraction int) int64 {
	for range fraction - 1 {
		value /= 10
	}
	if fraction == 0 {
		return value
	}
	if value >= 0 {
		return (value + 5) / 10
	}
	return (value - 5) / 10
}

func grouped(value int64, fraction int, separators bool) string {
	digits, sign := strconv.FormatInt(value, 10), ""
	if value < 0 { // -value may not exist
		digits, sign = digits[1:], "-"
	}
	if short := fraction + 1 - len(digits); short > 0 {
		digits = strings.Repeat("0", short) + digits
	}
	whole, decimals := digits[:len(digits)-fraction], digits[len(digits)-fraction:]
	for i := len(whole) - 3; separators && i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if fraction > 0 {
		whole += "." + decimals
	}
	return sign + whole
}

func withUnit(number, unit, currency string) string {
	switch {
	case unit == UnitPercent:
		return number + "%"
	case unit != UnitCents || currency == "":
		return number + " " + unit
	case symbols[currency] == "":
		return number + " " + currency
	case number[0] == '-':
		return "-" + symbols[currency] + number[1:]
	}
	return symbols[currency] + number
}
