package program

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"

	"kith/backend/store"
	"kith/core"
	"kith/core/auth"
	"kith/core/link"
	"kith/core/referral"
	"kith/core/wire"
)

// Caller is who sent a request: a holder of the tenant's API key, the user that
// a token speaks for, or anybody. Its zero value is anybody.
type Caller struct {
	Tenant store.Tenant
	// Key is true for a holder of the API key.
	Key bool
	// User is whom a user token speaks for, or nil; Token is that token.
	User  *wire.Subject
	Token string
}

// Authenticate tells who sent a request with these credentials to a tenant; a
// request without any is anybody's, and what it may do is for MustHoldKey and
// May to say. An unknown tenant is core.UnknownTenant; wrong credentials are
// unauthenticated.
func (e *Engine) Authenticate(ctx context.Context, alias core.TenantAlias, authorization, userToken string) (Caller, error) {
	tenant, err := e.DB.Tenant(ctx, alias)
	if err != nil {
		return Caller{}, err
	}
	credentials, err := auth.ParseCredentials(authorization, userToken)
	if err != nil {
		return Caller{}, err
	}
	return e.callerOf(tenant, credentials)
}

func (e *Engine) callerOf(tenant store.Tenant, credentials auth.Credentials) (Caller, error) {
	switch {
	case credentials.Key != "":
		if !auth.KeyMatches(tenant.KeyHash, credentials.Key) {
			return Caller{}, auth.Unauthenticated()
		}
		return Caller{Tenant: tenant, Key: true}, nil
	case credentials.Token != "":
		return e.tokenCaller(tenant, credentials.Token)
	}
	return Caller{Tenant: tenant}, nil
}

func (e *Engine) tokenCaller(tenant store.Tenant, token string) (Caller, error) {
	key, err := e.apiKey(tenant)
	if err != nil {
		return Caller{}, err
	}
	subject, err := wire.VerifyToken(tenant.Alias, key, token, e.Now(), tenant.UndatedTokens)
	if err != nil {
		return Caller{}, err
	}
	return Caller{Tenant: tenant, User: &subject, Token: token}, nil
}

// WithChecksum returns a caller who sent no credentials as the user of the path
// when the tenant takes checksums and the body's says so (see wire.VerifyChecksum),
// and as they are when the body gives none. A wrong checksum is unauthenticated.
func (e *Engine) WithChecksum(c Caller, account core.AccountID, user core.UserID, body []byte) (Caller, error) {
	if c.Key || c.User != nil || !c.Tenant.InitChecksum {
		return c, nil
	}
	key, err := e.apiKey(c.Tenant)
	if err != nil {
		return c, err
	}
	found, err := wire.VerifyChecksum(key, account, user, body)
	if found && err == nil {
		c.User = &wire.Subject{Account: account, User: user}
	}
	return c, err
}

// apiKey is the tenant's API key: what signs user tokens.
func (e *Engine) apiKey(tenant store.Tenant) (string, error) {
	key, err := e.Keys.Open(auth.KeyPlace(tenant.Alias), tenant.KeySealed)
	if err != nil {
		return "", fmt.Errorf("program: open key of tenant %s: %w", tenant.Alias, err)
	}
	return key, nil
}

// MustHoldKey refuses anybody, and a user token, where only the API key will do.
func (c Caller) MustHoldKey() error {
	switch {
	case c.Key:
		return nil
	case c.User == nil:
		return auth.Unauthenticated()
	}
	return &core.Error{Code: core.CodeForbidden, Message: "this call needs the tenant's API key; a user token is not enough"}
}

// May returns nil when the caller may make a call about a user, as the tenant's
// secure mode has it: a holder of the API key always, that user with a token
// unless the endpoint is disabled, anybody when it is open. The error is
// unauthenticated or forbidden.
func (c Caller) May(e auth.Endpoint, account core.AccountID, user core.UserID) error {
	return c.Tenant.SecureMode.Admit(e, c.bearer(account, user))
}

func (c Caller) bearer(account core.AccountID, user core.UserID) auth.Bearer {
	switch {
	case c.Key:
		return auth.KeyHolder
	case c.User == nil:
		return auth.Nobody
	case c.User.Account == account && c.User.User == user:
		return auth.SameUser
	}
	return auth.OtherUser
}

// Vouched returns an update without what the caller may not say: body is what
// wire.ParseUser made it of. See wire.Vouched. A holder of the API key may say
// anything.
func (c Caller) Vouched(u referral.UserUpdate, body []byte) (referral.UserUpdate, error) {
	switch {
	case c.Key:
		return u, nil
	case c.User == nil:
		return vouched(c.Tenant.Alias, u, wire.Subject{}, body, c.Tenant.BrowserPayment)
	}
	return vouched(c.Tenant.Alias, u, *c.User, body, c.Tenant.BrowserPayment)
}

// vouched is wire.Vouched, with a line in the log that explains why a
// browser's word did nothing.
func vouched(tenant core.TenantAlias, u referral.UserUpdate, s wire.Subject, body []byte, payment auth.BrowserPayment) (referral.UserUpdate, error) {
	u, left, err := wire.Vouched(u, s, body, payment)
	if err == nil && len(left) > 0 {
		slog.Info("an identification was taken without what no user token signs", "tenant", tenant, "keys", strings.Join(left, ","))
	}
	return u, err
}

// Share makes share links that begin where the tenant wants, or else at the origin
// of the service, or, when that is empty, at that of the tenant's landing page.
func (c Caller) Share(origin string) link.Share {
	return link.Share{Origin: cmp.Or(c.Tenant.ShareOrigin, origin, link.OriginOf(c.Tenant.Landing)), Tenant: c.Tenant.Alias}
}
