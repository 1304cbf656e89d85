// Package callers holds the use case that all others begin with: who sends a request,
// by the credentials that come with it.
package callers

import (
	"context"
	"errors"

	"kith/backend/app/base"
	"kith/backend/app/tenants"
	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/auth"
	"kith/core/wire"
)

// Callers find out who sends a request.
type Callers struct {
	*base.Base
	APIKeys *tenants.APIKeys

	cache tenantCache
}

// Authenticate returns who sent a request with these credentials to a tenant; a
// request without any is anybody's, and what it may do is for MustHoldKey and
// May to say. An unknown tenant is core.UnknownTenant; wrong credentials are
// unauthenticated, see ExplainWrongKey.
func (cs *Callers) Authenticate(ctx context.Context, alias core.TenantAlias, authorization, userToken string) (base.Caller, error) {
	tenant, err := tenantdb.Find(ctx, cs.DB.Reads, alias)
	if err != nil {
		return base.Caller{}, err
	}
	cs.cache.put(tenant, cs.Now())
	credentials, err := auth.ParseCredentials(authorization, userToken)
	if err != nil {
		return base.Caller{}, err
	}
	return cs.callerOf(tenant, credentials)
}

func (cs *Callers) callerOf(tenant tenantdb.Tenant, credentials auth.Credentials) (base.Caller, error) {
	switch {
	case credentials.Key != "":
		key, ok := tenant.Keys.Match(credentials.Key, cs.Now())
		if !ok {
			return base.Caller{}, auth.WrongKey(tenant.Alias, "")
		}
		cs.APIKeys.NoteUse(tenant.Alias, key.Hash)
		return base.Caller{Tenant: tenant, Key: true, Role: key.Role}, nil
	case credentials.Token != "":
		return cs.tokenCaller(tenant, credentials.Token)
	}
	return base.Caller{Tenant: tenant}, nil
}

// ExplainWrongKey adds to the error of Authenticate the tenant of the other mode, live
// or test, if the key is of that one: both stand side by side in settings. It is apart,
// since it asks the database, which a call that is refused should not cost.
func (cs *Callers) ExplainWrongKey(ctx context.Context, alias core.TenantAlias, authorization string, failed error) error {
	credentials, err := auth.ParseCredentials(authorization, "")
	if err != nil || credentials.Key == "" || !isUnauthenticated(failed) {
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

func isUnauthenticated(err error) bool {
	var known *core.Error
	return errors.As(err, &known) && known.Code == core.CodeUnauthenticated
}

func (cs *Callers) tokenCaller(tenant tenantdb.Tenant, token string) (base.Caller, error) {
	secrets, err := cs.SigningSecrets(tenant)
	if err != nil {
		return base.Caller{}, err
	}
	subject, err := wire.VerifyToken(tenant.Alias, secrets, token, cs.Now(), tenant.UndatedTokens)
	if err != nil {
		return base.Caller{}, err
	}
	return base.Caller{Tenant: tenant, User: &subject, Token: token}, nil
}

// WithChecksum returns a caller who sent no credentials as the user of the path
// when the tenant takes checksums and the body's says so (see wire.VerifyChecksum),
// and as they are when the body gives none. A wrong checksum is unauthenticated.
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

// AuthenticateAnonymous is Authenticate for a call that may be about a user who has
// no ids. It also takes a token that wire.AllowsAnonymous: its caller is Anonymous,
// whom May admits to auth.CreateCookieUser and to what is open to anybody.
func (cs *Callers) AuthenticateAnonymous(ctx context.Context, alias core.TenantAlias, authorization, userToken string) (base.Caller, error) {
	tenant, err := tenantdb.Find(ctx, cs.DB.Reads, alias)
	if err != nil {
		return base.Caller{}, err
	}
	cs.cache.put(tenant, cs.Now())
	credentials, err := auth.ParseCredentials(authorization, userToken)
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
			return base.Caller{Tenant: tenant, Anonymous: anonymous}, err
		}
	}
	return cs.callerOf(tenant, credentials)
}
