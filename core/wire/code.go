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
	w.text("referrerName", shortName(c.FirstName, c.LastName))
	w.offer("reward", c.Offer)
	percent := reward.BasisPoints(0)
	if c.Offer.Kind == reward.PercentDiscount {
		percent = c.Offer.Percent
	}
	w.raw("discountPercentage", percent.String())
	w.text("discountId", c.DiscountID)
	w.close()
	return w.b
}

// UnknownCode is the answer to a code that the tenant does not have.
func UnknownCode() *core.Error { return core.NotFound("there is no such referral code") }

// shortName is "Bob T" for Bob Testerson: enough to recognise a friend.
func shortName(first, last string) string {
	if _, n := utf8.DecodeRuneInString(last); n > 0 {
		return strings.TrimSpace(first + " " + last[:n])
	}
	return first
}

// Hosts reads a JSON array of host names; one that is none has none.
func Hosts(list string) []string {
	if list == "[]" {
		return nil
	}
	var hosts []string
	gjson.Parse(list).ForEach(func(_, host gjson.Result) bool {
		hosts = append(hosts, host.String())
		return true
	})
	return hosts
}
