package app

import (
	"context"

	"kith/backend/app/base"
	"kith/core"
	"kith/core/auth"
	"kith/core/link"
	"kith/core/rules"
	"kith/core/wire"
)

// AuthenticateAnonymous is Authenticate for a call that may be about a user who has
// no ids. It also takes a token that wire.AllowsAnonymous: its caller is Anonymous,
// whom May admits to auth.CreateCookieUser and to what is open to anybody.
func (e *Engine) AuthenticateAnonymous(ctx context.Context, alias core.TenantAlias, authorization, userToken string) (base.Caller, error) {
	tenant, err := e.DB.Tenant(ctx, alias)
	if err != nil {
		return base.Caller{}, err
	}
	e.lately.keep(tenant, e.Now())
	credentials, err := auth.ParseCredentials(authorization, userToken)
	if err != nil {
		return base.Caller{}, err
	}
	if credentials.Token != "" {
		secrets, err := e.SigningSecrets(tenant)
		if err != nil {
			return base.Caller{}, err
		}
		anonymous, err := wire.AllowsAnonymous(secrets, credentials.Token, e.Now(), tenant.UndatedTokens)
		if anonymous || err != nil {
			return base.Caller{Tenant: tenant, Anonymous: anonymous}, err
		}
	}
	return e.callerOf(tenant, credentials)
}

// cookieUserID is the id of the user that a browser was given, by its Cookie
// header, or else a new one.
func (e *Engine) cookieUserID(tenant core.TenantAlias, cookie string) core.UserID {
	if id, ok := link.FindCookieUser(tenant, e.Keys.CookieUser(tenant), cookie); ok {
		return id
	}
	return core.UserID(e.IDAt(e.Now()))
}

// IdentifyCookieUser is Identify of a user without ids, by the body of the call.
// It returns the caller as that user, unless they hold the API key. Whoever does
// not may not say that the user pays: the shop does not know who that is.
func (e *Engine) IdentifyCookieUser(ctx context.Context, c base.Caller, body []byte, in rules.Identification) (base.Caller, rules.Identified, error) {
	tenant := c.Tenant.Alias
	id := e.cookieUserID(tenant, in.Cookie)
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
	done, err := e.Identify(ctx, tenant, in)
	return c, done, err
}

// RememberCookieUser returns the Set-Cookie value by which a browser is known
// again, or ""; see link.RememberCookieUser.
func (e *Engine) RememberCookieUser(c base.Caller, v link.Visit, id core.UserID) string {
	return link.RememberCookieUser(v, e.linkTenant(c.Tenant.Alias, c.Tenant.Policy), e.Keys.CookieUser(c.Tenant.Alias), id)
}
