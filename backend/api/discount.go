package api

import (
	"net/http"

	"kith/core"
	"kith/core/reward"
	"kith/core/wire"
)

// discountRoutes has the same under newer and older names: "coupon" is what the
// API of 2014 calls a discount (reference, 1.3).
func (a *API) discountRoutes() routes {
	return routes{
		tenantPath + "/account/{account}/reward":   {"GET": a.accountDiscount},
		tenantPath + "/account/{account}/discount": {"GET": a.accountDiscount},
		tenantPath + "/discount/{code}":            {"GET": a.discountCode},
		tenantPath + "/coupon/{code}":              {"GET": a.discountCode},
		tenantPath + "/discount":                   {"POST": a.registerDiscount},
		tenantPath + "/coupon":                     {"POST": a.registerCoupon},
	}
}

// accountDiscount is GET /account/{account}/discount.
func (a *API) accountDiscount(w http.ResponseWriter, r *http.Request) error {
	caller, err := a.keyHolder(w, r)
	if err != nil {
		return err
	}
	account, err := core.ParseAccountID("accountId", r.PathValue("account"))
	if err != nil {
		return err
	}
	code := core.ReferralCode("")
	if text := r.URL.Query().Get("couponCode"); text != "" {
		if code, err = core.ParseReferralCode("couponCode", text); err != nil {
			return wire.UnknownCode()
		}
	}
	discount, err := a.Engine.AccountDiscount(r.Context(), caller.Tenant.Alias, account, code)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.AccountDiscount(discount))
	return nil
}

// discountCode is GET /discount/{code}.
func (a *API) discountCode(w http.ResponseWriter, r *http.Request) error {
	caller, err := a.keyHolder(w, r)
	if err != nil {
		return err
	}
	code, err := codeOf(r)
	if err != nil {
		return err
	}
	info, err := a.Engine.LookupCode(r.Context(), caller.Tenant, code)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.DiscountCode(info))
	return nil
}

// registerDiscount is POST /discount.
func (a *API) registerDiscount(w http.ResponseWriter, r *http.Request) error {
	discount, err := a.register(w, r)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.AccountDiscount(discount))
	return nil
}

// registerCoupon is POST /coupon, which answers nothing (reference, 1.3).
func (a *API) registerCoupon(w http.ResponseWriter, r *http.Request) error {
	if _, err := a.register(w, r); err != nil {
		return err
	}
	w.Header().Set("Cache-Control", wire.CacheControl)
	w.WriteHeader(http.StatusCreated)
	return nil
}

func (a *API) register(w http.ResponseWriter, r *http.Request) (reward.Discount, error) {
	caller, err := a.keyHolder(w, r)
	if err != nil {
		return reward.Discount{}, err
	}
	body, err := readJSON(w, r)
	if err != nil {
		return reward.Discount{}, err
	}
	registration, err := wire.ParseDiscountRegistration(body)
	if err != nil {
		return reward.Discount{}, err
	}
	return a.Engine.RegisterDiscount(r.Context(), caller.Tenant.Alias, registration)
}
