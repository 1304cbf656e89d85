package reward

import (
	"strconv"
	"strings"

	"kith/core"
)

// ParseAmount returns an amount that a person wrote, such as 12.50, in its smallest unit:
// in minor units of the currency, in hundredths of a percent if the unit is UnitPercent, and
// else as a whole number. The error is about field.
func ParseAmount(field, text, unit, currency string) (int64, error) {
	digits := 0
	example := "12"
	switch {
	case unit == UnitPercent:
		digits, example = 2, "12.5"
	case unit == UnitCents && currency != "":
		if digits = MinorDigits(currency); digits > 0 {
			example = "12." + strings.Repeat("5", digits)
		}
	}
	text = strings.TrimSpace(text)
	whole, fraction, pointed := strings.Cut(text, ".")
	switch {
	case text == "":
		return 0, core.Invalid(field, "is required; give it like "+example)
	case len(text) > 20 || !isDigits(whole) || pointed && !isDigits(fraction):
		return 0, core.Invalid(field, "is not a number; give it like "+example)
	case len(fraction) > digits:
		return 0, core.Invalid(field, "has too many decimals; give it like "+example)
	}
	value, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", digits-len(fraction)), 10, 64)
	if err == nil && value == 0 {
		return 0, core.Invalid(field, "must be more than 0")
	}
	if err != nil || value > MaxValue {
		return 0, core.Invalid(field, "is too large; give less")
	}
	return value, nil
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
