package wire

import (
	"github.com/valyala/fastjson"

	"kith/core"
	"kith/core/link"
	"kith/core/referral"
	"kith/core/reward"
)

// ParseAccount parses the body of POST /accountsync (spec 2.5; clients 1.1.1). The code of the
// referral is as a person typed it, see link.MeantCode.
func ParseAccount(tenant core.TenantAlias, body []byte) (referral.AccountUpdate, error) {
	var u referral.AccountUpdate
	unconfirmed := false
	err := object(body, MaxBody, "", func(r *reader, key string, v *fastjson.Value) bool {
		switch key {
		case "id":
			return setParsed(r, key, v, &u.ID, core.ParseAccountID)
		case "currency":
			return parsed(r, key, v, &u.Currency, reward.ParseCurrency)
		case "subscription":
			return r.nested(key, v, func(r *reader, key string, v *fastjson.Value) bool {
				return key == "statusUnconfirmed" && take(r.boolean, &unconfirmed, key, v) || takeSubscription(&u, r, key, v)
			})
		case "referral":
			return r.nested(key, v, func(r *reader, key string, v *fastjson.Value) bool {
				return key == "code" && parsed(r, key, v, &u.Code, meantCode(tenant))
			})
		}
		return false
	})
	if err == nil && u.ID == "" {
		err = required("id", "RS044")
	}
	if err != nil {
		return referral.AccountUpdate{}, err
	}
	if unconfirmed {
		// An account that was read is written back: that confirms nothing.
		u.Status = nil
	}
	return u, nil
}

func takeSubscription(u *referral.AccountUpdate, r *reader, key string, v *fastjson.Value) bool {
	switch key {
	case "status":
		return parsed(r, key, v, &u.Status, referral.ParseStatus)
	case "billingIntervalType":
		return parsed(r, key, v, &u.Interval, referral.ParseInterval)
	case "billingIntervalValue":
		return r.integer(&u.IntervalValue, key, v, 1)
	case "value":
		return r.decimal(&u.Value, key, v)
	}
	return false
}

// meantCode returns the parser of a code that a person typed.
func meantCode(tenant core.TenantAlias) func(field, s string) (core.ReferralCode, error) {
	return func(_, s string) (core.ReferralCode, error) { return link.MeantCode(tenant, s), nil }
}

func required(field, rs string) *core.Error {
	err := core.Invalid(field, "is required")
	err.RS = rs
	return err
}

// Account returns a stored account as JSON (clients 1.1.4).
func Account(a referral.Account) []byte {
	w := begin(nil)
	w.text("id", string(a.ID))
	w.text("currency", a.Currency)
	w.object("subscription", func() {
		w.text("status", string(a.Status))
		if a.Unconfirmed() {
			w.boolean("statusUnconfirmed", true)
		}
		w.textOrNull("billingIntervalType", string(a.Interval))
		w.numberOrNull("billingIntervalValue", a.IntervalValue)
		w.rawOrNull("value", a.Value)
	})
	w.objectOrNull("referral", a.Standing.Code != "", func() { w.text("code", string(a.Standing.Code)) })
	return w.end()
}
