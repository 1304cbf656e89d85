package users

import (
	"context"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/core"
	"kith/core/auth"
	"kith/core/link"
	"kith/core/rules"
	"kith/core/state"
	"kith/core/wire"
)

// Identification creates and updates users.
type Identification struct{ *base.Base }

// Identify creates or updates a user and the user's account; see rules.Rules.Identify.
func (i *Identification) Identify(ctx context.Context, tenant core.TenantAlias, in rules.Identification) (out rules.Identified, err error) {
	return store.WriteValue(ctx, i.DB.Write, i.Now(), func(tx *store.Tx) (out rules.Identified, err error) {
		u, r := i.Unit(tx, tenant), i.Rules()
		for _, want := range []func(*state.State, rules.Identification){r.WantIdentify, r.WantMore} {
			want(u.State, in)
			if err := u.Load(ctx); err != nil {
				return out, err
			}
		}
		err = u.Decide(ctx, func(s *state.State) (err error) {
			out, err = r.Identify(s, in)
			return err
		})
		if err != nil {
			return out, err
		}
		return out, u.Save(ctx)
	})
}

// cookieUserID returns the user id that the cookie of a Cookie header has, or a new id
// if it has none.
func (i *Identification) cookieUserID(tenant core.TenantAlias, cookie string) core.UserID {
	if id, ok := link.FindCookieUser(tenant, i.Keys.CookieUser(tenant), cookie); ok {
		return id
	}
	return core.UserID(i.IDAt(i.Now()))
}

// IdentifyCookieUser is Identify for a user without ids; body is the JSON of the call.
// It returns the caller as that user, or unchanged if the caller has the API key.
// Without the API key an account status is only reported, not applied, since no token
// signs it; see wire.Vouched.
func (i *Identification) IdentifyCookieUser(ctx context.Context, c base.Caller, body []byte, in rules.Identification) (base.Caller, rules.Identified, error) {
	tenant := c.Tenant.Alias
	id := i.cookieUserID(tenant, in.Visit.Cookie)
	var err error
	if in.Update, err = wire.ParseCookieUser(tenant, id, body); err != nil {
		return c, rules.Identified{}, err
	}
	if !c.Key {
		if in.Update, err = base.Vouched(tenant, in.Update, wire.Subject{}, body, auth.PaymentSigned); err != nil {
			return c, rules.Identified{}, err
		}
		c.User = &wire.Subject{Account: in.Update.Account, User: id}
	}
	in.CookieUser = true
	done, err := i.Identify(ctx, tenant, in)
	return c, done, err
}
