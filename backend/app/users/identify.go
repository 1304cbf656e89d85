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

// Identification makes users known, and what is said of them.
type Identification struct{ *base.Base }

// Identify stores what is said of a user and of their account; see
// rules.Rules.Identify.
func (i *Identification) Identify(ctx context.Context, tenant core.TenantAlias, in rules.Identification) (out rules.Identified, err error) {
	err = i.DB.Write(ctx, i.Now(), func(tx *store.Tx) error {
		u, r := i.Unit(tx, tenant), i.Rules()
		for _, want := range []func(*state.State, rules.Identification){r.WantIdentify, r.WantMore} {
			want(u.State, in)
			if err := u.Load(ctx); err != nil {
				return err
			}
		}
		err := u.Decide(ctx, func(s *state.State) (err error) {
			out, err = r.Identify(s, in)
			return err
		})
		if err != nil {
			return err
		}
		return u.Save(ctx)
	})
	return out, err
}

// cookieUserID is the id of the user that a browser was given, by its Cookie
// header, or else a new one.
func (i *Identification) cookieUserID(tenant core.TenantAlias, cookie string) core.UserID {
	if id, ok := link.FindCookieUser(tenant, i.Keys.CookieUser(tenant), cookie); ok {
		return id
	}
	return core.UserID(i.IDAt(i.Now()))
}

// IdentifyCookieUser is Identify of a user without ids, by the body of the call.
// It returns the caller as that user, unless they hold the API key. Whoever does
// not may not say that the user pays: the shop does not know who that is.
func (i *Identification) IdentifyCookieUser(ctx context.Context, c base.Caller, body []byte, in rules.Identification) (base.Caller, rules.Identified, error) {
	tenant := c.Tenant.Alias
	id := i.cookieUserID(tenant, in.Cookie)
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
