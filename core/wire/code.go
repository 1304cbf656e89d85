package wire

import (
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"kith/core"
	"kith/core/reward"
)

// CodeInfo is what a code look-up knows.
type CodeInfo struct {
	Code    core.ReferralCode
	Program core.ProgramKey
	// FirstName and LastName are the referrer's; either may be empty.
	FirstName, LastName string
	// Offer is what the code gives to who is referred by it.
	Offer reward.Offer
	// DiscountID is the tenant's discount at the payment gateway.
	DiscountID string
	Created    core.Time
}

// DefaultDiscountID is the gateway discount of a tenant that named no other
// (spec, Payment gateway set-up constants).
const DefaultDiscountID = "svc_discount"

// Code writes a code look-up: the union of the two shapes that clients know,
// the older with discountPercentage and discountId, which the spec names, and
// the newer with reward (reference, 1.3).
func Code(c CodeInfo) []byte {
	w := writer{}
	w.open()
	w.text("code", string(c.Code))
	w.text("couponCode", string(c.Code))
	w.date("dateCreated", c.Created)
	w.text("programId", string(c.Program))
	w.text("referrerName", c.ReferrerName())
	w.offer("reward", c.Offer)
	w.raw("discountPercentage", c.discount().String())
	w.text("discountId", c.DiscountID)
	w.close()
	return w.b
}

// UnknownCode is the answer to a code that the tenant does not have.
func UnknownCode() *core.Error { return core.NotFound("there is no such referral code") }

// ReferrerName is enough of the referrer's name for a friend.
func (c CodeInfo) ReferrerName() string { return shortName(c.FirstName, c.LastName) }

// shortName is "Bob T" for Bob Testerson: enough to recognise a friend.
func shortName(first, last string) string {
	if letter := initial(last); letter != "" {
		return strings.TrimSpace(first + " " + letter)
	}
	return first
}

// initial is the first letter of a name, or empty.
func initial(name string) string {
	_, n := utf8.DecodeRuneInString(name)
	return name[:n]
}

// Hosts reads a JSON array of host names; one that is none has none.
func Hosts(list string) []string { return Texts(list) }

// Texts reads a JSON array of strings, as a column has it; what is none has none.
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
