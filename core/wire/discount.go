package wire

import (
	"github.com/valyala/fastjson"

	"kith/core"
	"kith/core/reward"
)

// DiscountRegistration connects an account to its customer at the payment gateway,
// and has the code by which it was referred (spec 2.10).
type DiscountRegistration struct {
	Account  core.AccountID
	Provider core.PaymentProviderID
	Code     core.ReferralCode
}

// ParseDiscountRegistration parses the body of POST /discount. The code is as a person typed
// it, see link.MeantCode.
func ParseDiscountRegistration(tenant core.TenantAlias, body []byte) (DiscountRegistration, error) {
	var d DiscountRegistration
	err := object(body, MaxBody, "", func(r *reader, key string, v *fastjson.Value) bool {
		switch key {
		case "accountId":
			return setParsed(r, key, v, &d.Account, core.ParseAccountID)
		case "paymentProviderId":
			return setParsed(r, key, v, &d.Provider, core.ParsePaymentProviderID)
		case "couponCode":
			return setParsed(r, key, v, &d.Code, meantCode(tenant))
		}
		return false
	})
	switch {
	case err != nil:
	case d.Account == "":
		err = required("accountId", "RS044")
	case d.Provider == "":
		err = required("paymentProviderId", "RS012")
	case d.Code == "":
		err = required("couponCode", "RS034")
	}
	return d, err
}

// AccountDiscount returns an account's discount as JSON (clients 1.3.15). The total
// is the sum of the two sides. referrerName is present if a code was requested.
func AccountDiscount(d reward.Discount) []byte {
	w := begin(nil)
	w.text("accountId", string(d.Account))
	w.raw("discountPercentage", d.Total().String())
	w.raw("referredDiscountPercent", d.Referred.String())
	w.raw("referrerDiscountPercent", d.Referrer.String())
	w.text("discountId", d.DiscountID)
	if name := shortName(d.FirstName, d.LastName); name != "" {
		w.text("referrerName", name)
	}
	return w.end()
}

// DiscountCode returns a code's discount as JSON (clients 1.3.3).
func DiscountCode(c CodeInfo) []byte {
	w := begin(nil)
	w.text("couponCode", string(c.Code))
	w.text("referrerName", shortName(c.FirstName, c.LastName))
	w.raw("discountPercentage", c.discount().String())
	w.date("dateCreated", c.Created)
	w.text("discountId", c.DiscountID)
	return w.end()
}

// discount returns the code's discount; zero if its offer is not a discount.
func (c CodeInfo) discount() reward.BasisPoints {
	if c.Offer.Kind != reward.PercentDiscount {
		return 0
	}
	return c.Offer.Percent
}
