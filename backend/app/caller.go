package app

import (
	"cmp"
	"context"
	"errors"
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
	// Key is true for a holder of an API key, and Role is what that permits; see
	// Require.
	Key  bool
	Role auth.Role
	// User is whom a user token speaks for, or nil; Token is that token.
	User  *wire.Subject
	Token string
	// Anonymous is true for a token that admits a user who has no ids yet; see
	// AuthenticateAnonymous. For any other call it is worth nothing.
	Anonymous bool
}

// Authenticate tells who sent a request with these credentials to a tenant; a
// request without any is anybody's, and what it may do is for MustHoldKey and
// May to say. An unknown tenant is core.UnknownTenant; wrong credentials are
// unauthenticated, see ExplainWrongKey.
func (e *Engine) Authenticate(ctx context.Context, alias core.TenantAlias, authorization, userToken string) (Caller, error) {
	tenant, err := e.DB.Tenant(ctx, alias)
	if err != nil {
		return Caller{}, err
	}
	e.lately.keep(tenant, e.Now())
	credentials, err := auth.ParseCredentials(authorization, userToken)
	if err != nil {
		return Caller{}, err
	}
	return e.callerOf(tenant, credentials)
}

func (e *Engine) callerOf(tenant store.Tenant, credentials auth.Credentials) (Caller, error) {
	switch {
	case credentials.Key != "":
		key, ok := tenant.Keys.Match(credentials.Key, e.Now())
		if !ok {
			return Caller{}, auth.WrongKey(tenant.Alias, "")
		}
		e.uses.note(keyUse{tenant.Alias, key.Hash}, e.Now())
		return Caller{Tenant: tenant, Key: true, Role: key.Role}, nil
	case credentials.Token != "":
		return e.tokenCaller(tenant, credentials.Token)
	}
	return Caller{Tenant: tenant}, nil
}

// ExplainWrongKey adds to the error of Authenticate the tenant of the other mode, live
// or test, if the key is of that one: both stand side by side in settings. It is apart,
// since it asks the database, which nobody needs to do for a call that is refused.
func (e *Engine) ExplainWrongKey(ctx context.Context, alias core.TenantAlias, authorization string, failed error) error {
	credentials, err := auth.ParseCredentials(authorization, "")
	if err != nil || credentials.Key == "" || !isUnauthenticated(failed) {
		return failed
	}
	other := OtherMode(alias)
	tenant, err := e.DB.Tenant(ctx, other)
	if err != nil && !isNotFound(err) {
		return err
	}
	if _, ok := tenant.Keys.Match(credentials.Key, e.Now()); ok {
		return auth.WrongKey(alias, other)
	}
	return failed
}

func isUnauthenticated(err error) bool {
	var known *core.Error
	return errors.As(err, &known) && known.Code == core.CodeUnauthenticated
}

func (e *Engine) tokenCaller(tenant store.Tenant, token string) (Caller, error) {
	secrets, err := e.signingSecrets(tenant)
	if err != nil {
		return Caller{}, err
	}
	subject, err := wire.VerifyToken(tenant.Alias, secrets, token, e.Now(), tenant.UndatedTokens)
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
	secrets, err := e.signingSecrets(c.Tenant)
	if err != nil {
		return c, err
	}
	found, err := wire.VerifyChecksum(secrets, account, user, body)
	if found && err == nil {
		c.User = &wire.Subject{Account: account, User: user}
	}
	return c, err
}

// signingSecrets are the secrets that sign user tokens of a tenant; the first one is
// to sign new ones.
func (e *Engine) signingSecrets(tenant store.Tenant) (secrets []string, err error) {
	for _, k := range tenant.Keys.Signing(tenant.APIKeyTokens, e.Now()) {
		secret, err := e.openKey(tenant.Alias, k)
		if err != nil {
			return nil, err
		}
		secrets = append(secrets, secret)
	}
	return secrets, nil
}

// openKey opens the secret of a key that signs.
func (e *Engine) openKey(tenant core.TenantAlias, k auth.APIKey) (string, error) {
	secret, err := e.Keys.Open(auth.KeyPlace(tenant), k.Sealed)
	if err != nil {
		return "", fmt.Errorf("program: open key %s of tenant %s: %w", k.Name, tenant, err)
	}
	return secret, nil
}

// Require returns nil unless the caller holds an API key whose role does not permit
// an operation. What others may do is for MustHoldKey and May to say.
func (c Caller) Require(op auth.Operation) error {
	if !c.Key {
		return nil
	}
	return c.Role.Require(op)
}

// MustHoldKey refuses anybody, and a user token, where only the API key will do.
func (c Caller) MustHoldKey() error {
	switch {
	case c.Key:
		return nil
	case c.User == nil:
		return auth.NoCredentials()
	}
	return &core.Error{Code: core.CodeForbidden, Message: "this call needs the tenant's API key; a user token is not enough"}
}

// May returns nil when the caller may make a call about a user, as the tenant's
// secure mode has it: a holder of the API key always, that user with a token
// unless the endpoint is disabled, anybody when it is open. The error is
// unauthenticated or forbidden.
func (c Caller) May(e auth.Endpoint, account core.AccountID, user core.UserID) error {
	if c.Anonymous && e == auth.CreateCookieUser {
		return c.Tenant.SecureMode.Admit(e, auth.SameUser)
	}
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

// share makes the share links of a tenant where no request says where the service
// is reached.
func (e *Engine) share(t store.Tenant) link.Share { return Caller{Tenant: t}.Share(e.PublicURL) }

// Share makes share links that begin where the tenant wants, or else at the origin
// of the service, or, when that is empty, at that of the tenant's landing page.
func (c Caller) Share(origin string) link.Share {
	return link.Share{Origin: cmp.Or(c.Tenant.ShareOrigin, origin, link.OriginOf(c.Tenant.Landing)), Tenant: c.Tenant.Alias}
}
