package stripelab

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// Currencies by their number of decimals, as docs.stripe.com/currencies has them. All
// others have two.
var (
	zeroDecimal  = []string{"bif", "clp", "djf", "gnf", "jpy", "kmf", "krw", "mga", "pyg", "rwf", "vnd", "vuv", "xaf", "xof", "xpf"}
	threeDecimal = []string{"bhd", "jod", "kwd", "omr", "tnd"}
	// wholeOnly have no decimals, but are given with two that are always 00.
	wholeOnly = []string{"isk", "ugx"}
)

func validCurrency(code string) bool {
	return len(code) == 3 && strings.Trim(code, "abcdefghijklmnopqrstuvwxyz") == ""
}

func decimals(currency string) int {
	switch {
	case slices.Contains(zeroDecimal, currency):
		return 0
	case slices.Contains(threeDecimal, currency):
		return 3
	}
	return 2
}

// step is the smallest amount that can be charged: the last digit of three decimals is
// always 0.
func step(currency string) int64 {
	switch {
	case slices.Contains(threeDecimal, currency):
		return 10
	case slices.Contains(wholeOnly, currency):
		return 100
	}
	return 1
}

// minimum is the smallest charge. The gateway has one for each currency, of about half a
// dollar; the lab has one for each number of decimals.
func minimum(currency string) int64 {
	switch decimals(currency) {
	case 3:
		return 100
	default:
		return 50
	}
}

// share returns amount × part ÷ of, rounded to what can be charged, half away from zero.
func share(amount int64, part, of *big.Rat, currency string) int64 {
	if of.Sign() == 0 {
		return 0
	}
	n := step(currency)
	r := new(big.Rat).SetFrac64(amount, n)
	r.Mul(r, part).Quo(r, of)
	half := big.NewRat(1, 2)
	if r.Sign() < 0 {
		half.Neg(half)
	}
	r.Add(r, half)
	// Quo truncates towards zero.
	return new(big.Int).Quo(r.Num(), r.Denom()).Int64() * n
}

// percent returns a percentage of an amount.
func percent(amount int64, rate float64, currency string) int64 {
	part := new(big.Rat)
	// The rate has at most a few decimals: its shortest text is what was given.
	if _, ok := part.SetString(fmt.Sprint(rate)); !ok {
		return 0
	}
	return share(amount, part, big.NewRat(100, 1), currency)
}

// pretty returns an amount for a person, such as 12.50 USD.
func pretty(amount int64, currency string) string {
	sign := ""
	if amount < 0 {
		sign, amount = "-", -amount
	}
	d := decimals(currency)
	text := fmt.Sprintf("%0*d", d+1, amount)
	if d > 0 {
		text = text[:len(text)-d] + "." + text[len(text)-d:]
	}
	return sign + text + " " + strings.ToUpper(currency)
}
