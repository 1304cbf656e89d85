package wire

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"kith/core"
	"kith/core/reward"
)

// CodeInfo is the data of a code lookup.
type CodeInfo struct {
	Code    core.ReferralCode
	Program core.ProgramKey
	// FirstName and LastName are those of the referrer; either may be empty.
	FirstName, LastName string
	// Offer is the reward of a user who is referred by the code.
	Offer reward.Offer
	// DiscountID is the id of the tenant's discount at the payment gateway.
	DiscountID string
	Created    core.Time
}

// DefaultDiscountID is the default id of a tenant's discount at the payment gateway
// (spec 2.11.2).
const DefaultDiscountID = "svc_discount"

// Code returns the response to a code lookup. It is the union of two formats that
// clients expect: the older one with discountPercentage and discountId, as in the
// spec, and the newer one with reward (clients 1.3.13).
func Code(c CodeInfo) []byte {
	w := begin(nil)
	w.text("code", string(c.Code))
	w.text("couponCode", string(c.Code))
	w.date("dateCreated", c.Created)
	w.text("programId", string(c.Program))
	w.text("referrerName", c.ReferrerName())
	w.offer("reward", c.Offer)
	w.raw("discountPercentage", c.discount().String())
	w.text("discountId", c.DiscountID)
	return w.end()
}

// CodeTexts returns the texts of a code for CodeOf. They name neither the code nor a person.
func CodeTexts(c CodeInfo) []string {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	return []string{
		c.DiscountID, string(c.Program), number(int64(c.Created)), string(c.Offer.Kind), number(int64(c.Offer.Percent)),
		number(c.Offer.Amount), c.Offer.Unit, c.Offer.Currency, c.Offer.Settings, number(int64(c.Offer.ValidFor)),
		number(int64(c.Offer.OfRevenue)),
	}
}

// CodeOf returns a code without names from the texts of CodeTexts; false for others.
func CodeOf(v []string, code core.ReferralCode) (CodeInfo, bool) {
	if len(v) != 11 {
		return CodeInfo{}, false
	}
	number := func(text string) int64 { n, _ := strconv.ParseInt(text, 10, 64); return n }
	return CodeInfo{
		Code: code, DiscountID: v[0], Program: core.ProgramKey(v[1]), Created: core.Time(number(v[2])),
		Offer: reward.Offer{
			Kind: reward.Kind(v[3]), Percent: reward.BasisPoints(number(v[4])), Amount: number(v[5]), Unit: v[6], Currency: v[7],
			Settings: v[8], ValidFor: core.Time(number(v[9])), OfRevenue: reward.BasisPoints(number(v[10])),
		},
	}, true
}

// UnknownCode returns the error for a code that the tenant does not have.
func UnknownCode() *core.Error { return core.NotFound("there is no such referral code") }

// ReferrerName returns the referrer's first name and the initial of the last name.
func (c CodeInfo) ReferrerName() string { return shortName(c.FirstName, c.LastName) }

// shortName returns "Bob T" for Bob Testerson: enough for a friend to recognize.
func shortName(first, last string) string {
	if letter := initial(last); letter != "" {
		return strings.TrimSpace(first + " " + letter)
	}
	return first
}

// initial returns the first character of a name, or "".
func initial(name string) string {
	_, n := utf8.DecodeRuneInString(name)
	return name[:n]
}

// Texts parses a JSON array of strings from a database column. It returns nil for
// invalid JSON.
func Texts(list string) []string {
	if list == "[]" {
		return nil
	}
	var texts []string
	gjson.Parse(list).ForEach(func(_, text gjson.Result) bool {
		texts = append(texts, text.String())
		return true
	})
	return texts
}
