package shop

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// currency is what the shop sells in.
const currency = "USD"

// cents is an amount in the minor unit of the currency. The shop never uses floating
// point numbers for money.
type cents int64

// String returns the amount as people read it, such as $8.90 or −$8.90.
func (c cents) String() string {
	if c < 0 {
		return "−$" + (-c).decimal()
	}
	return "$" + c.decimal()
}

// decimal returns the amount in the main unit, such as 8.90, which is how Kith and the
// gateway read it.
func (c cents) decimal() string {
	if c < 0 {
		return "-" + (-c).decimal()
	}
	return fmt.Sprintf("%d.%02d", int64(c)/100, int64(c)%100)
}

// basisPoints is a share: 100 are one percent.
type basisPoints int64

// of returns the share of an amount, rounded half up.
func (p basisPoints) of(c cents) cents { return (c*cents(p) + 5000) / 10000 }

// String returns the share in percent, such as 10 % or 8.25 %.
func (p basisPoints) String() string {
	text := fmt.Sprintf("%d.%02d", int64(p)/100, int64(p)%100)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") + " %"
}

var errAmount = errors.New("the gateway answered an amount that is not one, such as 18.00")

// parseCents reads an amount of the gateway, such as 18.00.
func parseCents(text string) (cents, error) {
	whole, fraction, ok := strings.Cut(text, ".")
	if !ok || len(fraction) != 2 {
		return 0, errAmount
	}
	n, err := strconv.ParseInt(whole+fraction, 10, 64)
	if err != nil || n < 0 || n > 1e12 {
		return 0, errAmount
	}
	return cents(n), nil
}
