package text

import (
	"strconv"
	"strings"

	"kith/core/reward"
)

// numbers is how a language writes numbers.
type numbers struct {
	// decimal and group separate decimals and thousands. A number is grouped if it has
	// at least grouped digits.
	decimal, group string
	grouped        int
	// percent has {n}; money has {n} and {symbol}.
	percent, money string
	// symbols are pairs of a currency and its symbol. Another currency has its code,
	// behind the amount.
	symbols []string
}

// minus is the sign of negative numbers.
const minus = "\u2212"

// noBreak is a blank at which a line does not break.
const noBreak = "\u00a0"

// format returns a number whose last fraction digits are decimals.
func (f numbers) format(value int64, fraction int) string {
	sign, magnitude := "", uint64(value)
	if value < 0 {
		sign, magnitude = minus, -magnitude
	}
	digits := strconv.FormatUint(magnitude, 10)
	if short := fraction + 1 - len(digits); short > 0 {
		digits = strings.Repeat("0", short) + digits
	}
	whole, decimals := digits[:len(digits)-fraction], digits[len(digits)-fraction:]
	for i := len(whole) - 3; len(digits)-fraction >= f.grouped && i > 0; i -= 3 {
		whole = whole[:i] + f.group + whole[i:]
	}
	if strings.Trim(decimals, "0") == "" { // also for no decimals
		return sign + whole
	}
	return sign + whole + f.decimal + decimals
}

// Percent returns a percentage as text, without trailing zeros: "12.5%".
func (c *Catalog) Percent(b reward.BasisPoints) string {
	value, fraction := int64(b), 2
	for fraction > 0 && value%10 == 0 {
		value, fraction = value/10, fraction-1
	}
	return Fill(c.numbers.percent, "n", c.numbers.format(value, fraction))
}

// Money returns an amount in minor units as text. Decimals are left out if they are
// zero.
func (c *Catalog) Money(amount int64, currency string) string {
	number := c.numbers.format(amount, fractionDigits(currency))
	for i := 0; i+1 < len(c.numbers.symbols); i += 2 {
		if c.numbers.symbols[i] != currency {
			continue
		}
		sign := ""
		if strings.HasPrefix(c.numbers.money, "{symbol}") && amount < 0 {
			sign, number = number[:len(minus)], number[len(minus):]
		}
		return sign + Fill(c.numbers.money, "n", number, "symbol", c.numbers.symbols[i+1])
	}
	if currency == "" {
		return number
	}
	return number + noBreak + currency
}

// fractionDigits returns the number of decimals of a currency (ISO 4217).
func fractionDigits(currency string) int {
	switch currency {
	case "BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "UYI", "VND", "VUV", "XAF", "XOF", "XPF":
		return 0
	case "BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND":
		return 3
	}
	return 2
}

// Amount returns an amount of a reward as text: in minor units of a currency, in basis
// points for the unit %, and otherwise in the unit. Days, weeks, months, years and
// points are words of the language; any other unit stays as the shop wrote it.
func (c *Catalog) Amount(value int64, unit, currency string) string {
	if _, named, found := strings.Cut(unit, "/"); found {
		unit, currency = reward.UnitCents, named
	}
	switch {
	case unit == reward.UnitPercent:
		return c.Percent(reward.BasisPoints(value))
	case (unit == "" || unit == reward.UnitCents) && currency != "":
		return c.Money(value, currency)
	}
	switch strings.TrimSuffix(strings.ToUpper(unit), "S") {
	case "DAY":
		return c.Count(c.Days, value)
	case "WEEK":
		return c.Count(c.Weeks, value)
	case "MONTH":
		return c.Count(c.Months, value)
	case "YEAR":
		return c.Count(c.Years, value)
	case "POINT":
		return c.Count(c.Points, value)
	}
	return c.numbers.format(value, 0) + noBreak + unit
}
