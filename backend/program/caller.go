package program

import (
	"context"
	"fmt"

	"kith/backend/store"
	"kith/core"
	"kith/core/auth"
	"kith/core/wire"
)

// Caller is who sent a request: a holder of the tenant's API key, or the user
// that a token speaks for.
type Caller struct {
	Tenant store.Tenant
	// User is nil for a holder of the API key.
	User *wire.Subject
}

// Authenticate tells who sent a request with these credentials to a tenant.
// An unknown tenant is core.UnknownTenant; no or wrong credentials are
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
	switch {
	case credentials.Key != "":
		if !auth.KeyMatches(tenant.KeyHash, credentials.Key) {
			return Caller{}, auth.Unauthenticated()
		}
		return Caller{Tenant: tenant}, nil
	case credentials.Token != "":
		return e.tokenCaller(tenant, credentials.Token)
	}
	return Caller{}, auth.Unauthenticated()
}

func (e *Engine) tokenCaller(tenant store.Tenant, token string) (Caller, error) {
	key, err := e.Keys.Open(auth.KeyPlace(tenant.Alias), tenant.KeySealed)
	if err != nil {
		return Caller{}, fmt.Errorf("program: open key of tenant %s: %w", tenant.Alias, err)
	}
	subject, err := wire.VerifyToken(tenant.Alias, key, token, e.Now())
	if err != nil {
		return Caller{}, err
	}
	return Caller{Tenant: tenant, User: &subject}, nil
}

// MustHoldKey refuses a user token where only the API key will do.
func (c Caller) MustHoldKey() error {
	if c.User == nil {
		return nil
	}
	return &core.Error{Code: core.CodeForbidden, Message: "this call needs the tenant's API key; a user token is not enough"}
}

// MustSpeakFor refuses a token of another user.
func (c Caller) MustSpeakFor(account core.AccountID, user core.UserID) error {
	if c.User == nil || c.User.Account == account && c.User.User == user {
		return nil
	}
	return &core.Error{Code: core.CodeForbidden, Message: "the user token speaks for another user"}
}
