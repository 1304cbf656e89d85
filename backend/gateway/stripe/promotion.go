package stripe

import (
	"context"
	"strings"

	"kith/backend/gateway"
	"kith/core"
)

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
	active, err := list[promotionCode](ctx, g.api, params{"limit": {pageSize}, "code": {string(o.Code)}, "active": {"true"}}, "promotion_codes")
	if err != nil {
		return p, err
	}
	for _, one := range active {
		have := one.Promotion.Coupon
		switch {
		case have != "" && string(have) == p.Coupon && p.ID == "":
			p.ID = one.ID
		case g.termsOf(have) != "":
			if _, err := post[identified](ctx, g.api, params{"active": {"false"}}, "promotion_codes", one.ID); err != nil {
				return p, err
			}
		default:
			return p, &gateway.Error{Action: gateway.Alert, Err: errTaken}
		}
	}
	if none || p.ID != "" {
		return p, nil
	}
	made, err := post[identified](ctx, g.api, params{
		"code": {string(o.Code)}, "promotion[type]": {"coupon"}, "promotion[coupon]": {p.Coupon},
		"metadata[" + tenantKey + "]": {string(g.tenant)}, "metadata[" + metaCode + "]": {string(o.Code)},
	}, "promotion_codes")
	if refused(err).Code == resourceMissing {
		// The merchant has deleted the coupon.
		g.coupons.Delete(p.Coupon)
	}
	p.ID = made.ID
	return p, err
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
