// Package callers authenticates the callers of all other use cases by the credentials of
// their requests.
package callers

import (
	"context"

	"kith/backend/app/base"
	"kith/backend/app/tenants"
	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/auth"
	"kith/core/wire"
)

// Callers authenticates the senders of requests.
type Callers struct {
	*base.Base
	APIKeys *tenants.APIKeys

	cache tenantCache
}

// Authenticate returns the caller of a tenant by the Authorization header and the user
// token of a request. A request without credentials has an anonymous caller: whether it
// is allowed is decided by MustHoldKey and May. The error is core.UnknownTenant, or
// unauthenticated for wrong credentials; see ExplainWrongKey.
func (cs *Callers) Authenticate(ctx context.Context, alias core.TenantAlias, authorization, userToken string) (base.Caller, error) {
	tenant, credentials, err := cs.presented(ctx, alias, authorization, userToken)
	if err != nil {
		return base.Caller{}, err
	}
	return cs.callerOf(tenant, credentials)
}

// presented returns the tenant and the credentials of a request, which are not checked
// yet.
func (cs *Callers) presented(ctx context.Context, alias core.TenantAlias, authorization, userToken string) (tenantdb.Tenant, auth.Credentials, error) {
	tenant, err := tenantdb.Find(ctx, cs.DB.Reads, alias)
	if err != nil {
		return tenant, auth.Credentials{}, err
	}
	cs.cache.put(tenant, cs.Now())
	credentials, err := auth.ParseCredentials(authorization, userToken)
	return tenant, credentials, err
}

func (cs *Callers) callerOf(tenant tenantdb.Tenant, credentials auth.Credentials) (base.Caller, error) {
	switch {
	case credentials.Key != "":
		key, ok := tenant.Keys.Match(credentials.Key, cs.Now())
		if !ok {
			return base.Caller{}, auth.WrongKey(tenant.Alias, "")
		}
		cs.APIKeys.NoteUse(tenant.Alias, key.Hash)
		return base.Caller{Tenant: tenant, Key: true, Role: key.Role, KeyName: key.Name, KeyExpires: key.Expires}, nil
	case credentials.Token != "":
		return cs.tokenCaller(tenant, credentials.Token)
	}
	return base.Caller{Tenant: tenant}, nil
}

// ExplainWrongKey returns the error failed of Authenticate. If the key belongs to the
// tenant of the other mode, live or test, the error names that tenant: the two keys are
// easily confused. It is a call of its own because it reads the database, and not every
// refused request may cost that.
func (cs *Callers) ExplainWrongKey(ctx context.Context, alias core.TenantAlias, authorization string, failed error) error {
	credentials, err := auth.ParseCredentials(authorization, "")
	if err != nil || credentials.Key == "" || !base.HasCode(failed, core.CodeUnauthenticated) {
		return failed
	}
	other := base.OtherMode(alias)
	tenant, err := tenantdb.Find(ctx, cs.DB.Reads, other)
	if err != nil && !base.IsNotFound(err) {
		return err
	}
	if _, ok := tenant.Keys.Match(credentials.Key, cs.Now()); ok {
		return auth.WrongKey(alias, other)
	}
	return failed
}

func (cs *Callers) tokenCaller(tenant tenantdb.Tenant, token string) (base.Caller, error) {
	secrets, err := cs.SigningSecrets(tenant)
	if err != nil {
		return base.Caller{}, err
	}
	subject, err := wire.VerifyToken(tenant.Alias, secrets, token, cs.Now(), tenant.UndatedTokens)
	if err != nil {
		return base.Caller{}, cs.noteUndated(tenant, err)
	}
	return base.Caller{Tenant: tenant, User: &subject, Token: token}, nil
}

// noteUndated counts a call that is refused with err if its token has no exp, and returns err.
func (cs *Callers) noteUndated(tenant tenantdb.Tenant, err error) error {
	if wire.IsUndated(err) {
		cs.APIKeys.NoteUndated(tenant.Alias)
	}
	return err
}

// WithChecksum returns c as the given user if c has no credentials, the tenant accepts
// checksums, and body has a valid checksum of that user; see wire.VerifyChecksum. It
// returns c unchanged if body has no checksum. A wrong checksum is unauthenticated.
func (cs *Callers) WithChecksum(c base.Caller, account core.AccountID, user core.UserID, body []byte) (base.Caller, error) {
	if c.Key || c.User != nil || !c.Tenant.InitChecksum {
		return c, nil
	}
	secrets, err := cs.SigningSecrets(c.Tenant)
	if err != nil {
		return c, err
	}
	found, err := wire.VerifyChecksum(secrets, account, user, body)
	if found && err == nil {
		c.User = &wire.Subject{Account: account, User: user}
	}
	return c, err
}

// AuthenticateAnonymous is Authenticate for a call that may be about a user without
// ids. It also accepts a token that wire.AllowsAnonymous accepts. The caller of such a
// token is Anonymous: May allows it auth.CreateCookieUser and all open endpoints.
func (cs *Callers) AuthenticateAnonymous(ctx context.Context, alias core.TenantAlias, authorization, userToken string) (base.Caller, error) {
	tenant, credentials, err := cs.presented(ctx, alias, authorization, userToken)
	if err != nil {
		return base.Caller{}, err
	}
	if credentials.Token != "" {
		secrets, err := cs.SigningSecrets(tenant)
		if err != nil {
			return base.Caller{}, err
		}
		anonymous, err := wire.AllowsAnonymous(secrets, credentials.Token, cs.Now(), tenant.UndatedTokens)
		if anonymous || err != nil {
			return base.Caller{Tenant: tenant, Anonymous: anonymous}, cs.noteUndated(tenant, err)
		}
	}
	return cs.callerOf(tenant, credentials)
}
