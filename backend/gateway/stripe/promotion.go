package stripe

import (
	"context"
	"strconv"
	"strings"

	sdk "github.com/stripe/stripe-go/v86"

	"kith/backend/gateway"
	"kith/core"
)

// itoa writes a number.
func itoa(n int) string { return strconv.Itoa(n) }

// SetPromotion makes the promotion code of a referral code with some terms, unless it
// exists, and returns its id and that of its coupon. Codes with other terms are made
// inactive. Without terms, no code stays active, and the ids are empty.
func (g *adapter) SetPromotion(ctx context.Context, o gateway.PromotionOrder) (p gateway.Promotion, err error) {
	terms := couponOf(o)
	none := g.CouponOf(o) == ""
	if !none {
		if p.Coupon, err = g.makeCoupon(ctx, terms); err != nil {
			return p, err
		}
	}
	// Stripe compares codes without case, and so does Kith.
	active, err := all(ctx, g.api.V1PromotionCodes.List(ctx, &sdk.PromotionCodeListParams{ListParams: page(), Code: sdk.String(string(o.Code)), Active: sdk.Bool(true)}))
	if err != nil {
		return p, err
	}
	for _, one := range active {
		var have *sdk.Coupon
		if one.Promotion != nil {
			have = one.Promotion.Coupon
		}
		switch {
		case have != nil && have.ID == p.Coupon && p.ID == "":
			p.ID = one.ID
		case g.termsOf(have) != "":
			if _, err := g.api.V1PromotionCodes.Update(ctx, one.ID, &sdk.PromotionCodeUpdateParams{Active: sdk.Bool(false)}); err != nil {
				return p, portError(err)
			}
		default:
			return p, &gateway.Error{Action: gateway.Alert, Err: errTaken}
		}
	}
	if none || p.ID != "" {
		return p, nil
	}
	params := &sdk.PromotionCodeCreateParams{
		Code: sdk.String(string(o.Code)), Promotion: &sdk.PromotionCodeCreatePromotionParams{Type: sdk.String("coupon"), Coupon: sdk.String(p.Coupon)},
		Metadata: map[string]string{"kith_tenant": string(g.tenant), metaCode: string(o.Code)},
	}
	made, err := g.api.V1PromotionCodes.Create(ctx, params)
	if hasCode(err, sdk.ErrorCodeResourceMissing) {
		// The merchant has deleted the coupon.
		g.coupons.Delete(p.Coupon)
	}
	if err != nil {
		return p, portError(err)
	}
	p.ID = made.ID
	return p, nil
}

func couponOf(o gateway.PromotionOrder) coupon {
	return coupon{percent: o.Percent, months: o.Months, amount: toStripe(o.Amount, o.Currency), currency: o.Currency}
}

// CouponOf returns the id of the coupon with the terms of an order.
func (g *adapter) CouponOf(o gateway.PromotionOrder) string {
	terms := couponOf(o)
	if terms.percent == 0 && terms.amount == 0 {
		return ""
	}
	return terms.id(string(g.tenant))
}

// errTaken reports a code that the merchant has made for another purpose.
var errTaken = gateway.Text("the shop has an active promotion code with this text that is not Kith's; deactivate it in the Dashboard, or give the referrer another code")

// PromotionForm reports whether a referral code can be a promotion code: Stripe allows
// letters, digits and hyphens.
func (g *adapter) PromotionForm(code core.ReferralCode) bool {
	return strings.Trim(strings.ToLower(string(code)), "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}
