package stripe

import (
	"strings"

	"kith/core/reward"
)

// digitsOf returns how many digits after the point Stripe's amounts of a currency count
// (gateway 4.1.5). They differ from ISO 4217 for ISK and UGX, whose amounts Stripe writes
// with two decimals that are 0, and for MGA.
func digitsOf(currency string) int {
	switch currency {
	case "BIF", "CLP", "DJF", "GNF", "JPY", "KMF", "KRW", "MGA", "PYG", "RWF", "VND", "VUV", "XAF", "XOF", "XPF":
		return 0
	case "BHD", "JOD", "KWD", "OMR", "TND":
		return 3
	}
	return 2
}

func currencyOf(c string) string { return strings.ToUpper(c) }

// fromStripe returns an amount of Stripe in minor units of the currency.
func fromStripe(amount int64, currency string) int64 {
	return shift(amount, reward.MinorDigits(currency)-digitsOf(currency))
}

// shift multiplies an amount by 10 to the power of n.
func shift(amount int64, n int) int64 {
	for ; n > 0; n-- {
		amount *= 10
	}
	for ; n < 0; n++ {
		amount /= 10
	}
	return amount
}

// toStripeStep returns the amount of Stripe of which all its amounts are multiples.
func toStripeStep(currency string) int64 {
	switch {
	case digitsOf(currency) == 3:
		return 10
	case digitsOf(currency) > reward.MinorDigits(currency):
		return 100
	}
	return 1
}

// toStripe returns an amount in minor units of the currency as Stripe takes it. What
// Stripe cannot express is left out, so that no more money moves than the amount: of a
// currency with three decimals, the last must be 0.
func toStripe(amount int64, currency string) int64 {
	amount = shift(amount, digitsOf(currency)-reward.MinorDigits(currency))
	if digitsOf(currency) == 3 {
		amount -= amount % 10
	}
	return amount
}
