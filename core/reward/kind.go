package reward

import (
	"strings"

	"kith/core"
)

// Kind is the kind of a reward, "type" in the API (clients 1.3.16).
type Kind string

const (
	// PercentDiscount is a percentage off the price of a subscription.
	PercentDiscount Kind = "PCT_DISCOUNT"
	// Credit is an amount that can be redeemed in parts.
	Credit Kind = "CREDIT"
	// FuelTank is a code of the tenant's shop that is worth an amount.
	FuelTank Kind = "FUELTANK"
	// Integration is a gift, such as a gift card, that another service delivers.
	Integration Kind = "INTEGRATION"
)

// Traits are what distinguishes a kind of reward from the others. The API, the rules of programs
// and the portal follow them.
type Traits struct {
	Kind Kind
	// Value is the key of its value in a program, and Assigned in a reward.
	Value, Assigned string
	// Keys are the other keys that only some kinds have in a program. Must and May are those in
	// a call that gives such a reward.
	Keys, Must, May []string
	// Divisible is true if the value may be a share of an order.
	Divisible bool
	// Fixed is true if only a denial cancels such a reward, unless a call decides otherwise.
	Fixed bool
	// Stepped is true if the value may change with the referrer's conversions.
	Stepped bool
	// Choice and Share are the answers to the question what a side of a program gets: a fixed
	// value, and a share of the order.
	Choice, Share Choice
	// Title is above the sum of a user's rewards.
	Title string
	// Words say what is given, with {} for a fixed value, InPercent for one in percent, and
	// OfOrder for a share of an order.
	Words, InPercent, OfOrder string
}

// Choice is an answer in a form.
type Choice struct{ Label, Hint string }

// Kinds returns the traits of all kinds, in the order in which people choose from them. The
// caller must not change them.
func Kinds() []Traits { return kinds }

var kinds = []Traits{
	{
		Kind: Credit, Value: "credit", Assigned: "assignedCredit", Divisible: true, Stepped: true,
		Keys: []string{"currency"}, Must: []string{"unit", "assignedCredit"}, May: []string{"currency"},
		Choice: Choice{"A fixed credit", "An amount such as 10.00 USD, or points."},
		Share:  Choice{"A share of the order", "Credit of so many percent of what the friend pays."},
		Title:  "Balance", Words: "{} credit", OfOrder: "{} as credit",
	},
	{
		Kind: PercentDiscount, Value: "discountPercent", Assigned: "discountPercent", Stepped: true,
		Must:   []string{"discountPercent"},
		Choice: Choice{"A discount", "Some percent off the price of a subscription."},
		Title:  "Discount", InPercent: "{} off",
	},
	{
		Kind: FuelTank, Value: "amount", Assigned: "amount",
		Keys: []string{"currency", "fuelTankType"}, Must: []string{"fuelTankCode", "fuelTankType", "amount"},
		Choice: Choice{"A coupon code", "One of the codes that you upload to the fuel tank."},
		Title:  "Codes", Words: "a coupon code worth {}", InPercent: "a coupon code for {} off",
	},
	{
		Kind: Integration, Value: "valueInCents", Assigned: "valueInCents", Divisible: true, Fixed: true, Stepped: true,
		Keys: []string{"currency", "integrationSettings"},
		Must: []string{"unit", "valueInCents", "integrationSettings"}, May: []string{"description"},
		Choice: Choice{"A gift of a fixed worth", "Delivered by another service, such as a gift card."},
		Share:  Choice{"A gift worth a share of the order", "Delivered by another service."},
		Title:  "Gifts", Words: "a gift worth {}", OfOrder: "a gift worth {}",
	},
}

// Traits returns the traits of a kind; the zero Traits for an unknown one.
func (k Kind) Traits() Traits {
	for _, t := range kinds {
		if t.Kind == k {
			return t
		}
	}
	return Traits{}
}

// ParseKind returns s as a kind or an error about field.
func ParseKind(field, s string) (Kind, error) {
	return core.ParseOneOf(field, s, PercentDiscount, Credit, FuelTank, Integration)
}

// Says returns what a kind gives, as the object of a verb, with the value in words: inPercent is
// true for a fixed value in percent, ofOrder for a share of an order.
func (t Traits) Says(value string, inPercent, ofOrder bool) string {
	words := t.Words
	switch {
	case ofOrder:
		words = t.OfOrder
	case inPercent:
		words = t.InPercent
	}
	return strings.Replace(words, "{}", value, 1)
}
