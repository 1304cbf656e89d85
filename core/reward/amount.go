package reward

import (
	"strconv"
	"strings"

	"kith/core"
)

// MoneyIn returns the currency of amounts in a unit, whose minor units they count: the
// currency of the offer, or the one that the unit names, as in CASH/USD. It is empty for
// amounts that are no money.
func MoneyIn(unit, currency string) string {
	if _, named, found := strings.Cut(unit, "/"); found {
		return named
	}
	if unit == UnitCents {
		return currency
	}
	return ""
}

// ParseAmount returns the amount that a person has entered as a decimal number such as
// 12.50, in minor units of a currency, or an error about field. Without a currency it is a
// whole number. WithPoint is applied. Pretty writes such numbers with NumberUnformatted.
func ParseAmount(field, s, currency string) (int64, error) {
	if currency == "" {
		return parseDecimal(field, s, 0, "a number without currency has no decimals")
	}
	digits := MinorDigits(currency)
	return parseDecimal(field, s, digits, "amounts in "+currency+" have "+strconv.Itoa(digits)+" decimals")
}

// ParseValue returns the value that a person has entered for a reward, which must be more
// than 0, in the smallest unit: in minor units of the currency, in hundredths of a percent
// if the unit is UnitPercent, which may follow it, and else as a whole number. The error is
// about field.
func ParseValue(field, s, unit, currency string) (n int64, err error) {
	s = strings.TrimSpace(s)
	if unit == UnitPercent {
		s = strings.TrimSpace(strings.TrimSuffix(s, UnitPercent))
		n, err = parseDecimal(field, s, 2, "a percentage has 2 decimals")
	} else {
		n, err = ParseAmount(field, s, MoneyIn(unit, currency))
	}
	if err == nil && n == 0 {
		err = core.Invalid(field, "must be more than 0")
	}
	return n, err
}

// WithPoint returns a number that a person has entered with a point for its decimals: a
// comma before the last one or two digits becomes one, as in 12,5. A comma before three
// digits may separate thousands, so it stays, and the number is refused.
func WithPoint(s string) string {
	whole, fraction, found := strings.Cut(s, ",")
	if !found || len(fraction) == 0 || len(fraction) > 2 || strings.Contains(whole, ".") {
		return s
	}
	return whole + "." + fraction
}

// parseDecimal returns a number with at most digits decimals, multiplied so that it has
// none. of says how many it may have.
func parseDecimal(field, s string, digits int, of string) (int64, error) {
	example := "10"
	if digits > 0 {
		example += "." + strings.Repeat("0", digits)
	}
	s, negative := strings.CutPrefix(s, "-")
	whole, fraction, pointed := strings.Cut(WithPoint(s), ".")
	if whole == "" || pointed && fraction == "" || strings.Trim(whole+fraction, "0123456789") != "" {
		return 0, core.Invalid(field, "must be an amount such as "+example+", without a currency or separators of thousands")
	}
	if negative {
		return 0, core.Invalid(field, "must not be negative; give an amount such as "+example)
	}
	if len(fraction) > digits {
		return 0, core.Invalid(field, "must be an amount such as "+example+": "+of)
	}
	n, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", digits-len(fraction)), 10, 64)
	if err != nil || n > MaxValue {
		return 0, core.Invalid(field, "must be at most "+grouped(MaxValue, digits, false))
	}
	return n, nil
}
