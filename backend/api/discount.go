package api

import (
	"kith/core"
	"kith/core/link"
	"kith/core/operation"
	"kith/core/wire"
)

// discountRoutes has each operation under its newer and its older name: the API of 2014
// calls a discount "coupon" (clients 1.3.5).
func (a *API) discountRoutes() routes {
	return routes{
		tenantPath + "/account/{account}/reward":   {"GET": a.keyed(operation.ReadReferrals, with((*call).accountID, a.accountDiscount))},
		tenantPath + "/account/{account}/discount": {"GET": a.keyed(operation.ReadReferrals, with((*call).accountID, a.accountDiscount))},
		tenantPath + "/discount/{code}":            {"GET": a.keyed(operation.LookUpCode, a.discountCode)},
		tenantPath + "/coupon/{code}":              {"GET": a.keyed(operation.LookUpCode, a.discountCode)},
		tenantPath + "/discount":                   {"POST": a.keyed(operation.RegisterDiscount, with(bodyFor(wire.ParseDiscountRegistration), a.registerDiscount))},
		tenantPath + "/coupon":                     {"POST": a.keyed(operation.RegisterDiscount, created(with(bodyFor(wire.ParseDiscountRegistration), a.registerCoupon)))},
	}
}

// accountDiscount handles GET /account/{account}/discount and its older name /reward.
func (a *API) accountDiscount(c *call, account core.AccountID) ([]byte, error) {
	code := link.MeantCode(c.tenant, c.URL.Query().Get("couponCode"))
	return encode(wire.AccountDiscount)(a.Engine.Discounts.Of(c.Context(), c.tenant, account, code))
}

// discountCode handles GET /discount/{code}.
func (a *API) discountCode(c *call) ([]byte, error) {
	return encode(wire.DiscountCode)(a.Engine.Codes.Lookup(c.Context(), c.caller.Tenant, codeOf(c)))
}

// registerDiscount handles POST /discount.
func (a *API) registerDiscount(c *call, registration wire.DiscountRegistration) ([]byte, error) {
	return encode(wire.AccountDiscount)(a.Engine.Discounts.Register(c.Context(), c.tenant, registration))
}

// registerCoupon handles POST /coupon, whose answer has no body (clients 1.3.5).
func (a *API) registerCoupon(c *call, registration wire.DiscountRegistration) ([]byte, error) {
	c.w.Header().Set("Cache-Control", wire.CacheControl)
	_, err := a.registerDiscount(c, registration)
	return nil, err
}
