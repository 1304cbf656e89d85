package admin

import (
	"context"

	"kith/backend/app/base"
	"kith/backend/app/tenants"
	"kith/core"
	"kith/core/auth"
	"kith/core/operation"
	"kith/core/people"
)

// APIKeys are the API keys of a tenant.
type APIKeys struct {
	Base *base.Base
	API  *tenants.APIKeys
}

// auditedKey is an API key in the audit log.
type auditedKey struct {
	Role    auth.Role `json:"role"`
	Expires core.Time `json:"dateExpires,omitempty"`
}

// Create adds a key and returns it with its secret; see tenants.APIKeys.Create.
func (ks *APIKeys) Create(ctx context.Context, c people.Caller, name string, role auth.Role, expires core.Time) (k auth.APIKey, secret string, err error) {
	change := base.Change{Operation: operation.CreateKey, Subject: name, After: auditedKey{role, expires}}
	err = ks.Base.Act(ctx, c, change, func(ctx context.Context, _ *base.Change) error {
		k, secret, err = ks.API.Create(ctx, c.Tenant, name, role, expires)
		return err
	})
	return k, secret, err
}

// Rotate gives a key a new secret and returns both; see tenants.APIKeys.Rotate.
func (ks *APIKeys) Rotate(ctx context.Context, c people.Caller, name string, overlap core.Time) (k auth.APIKey, secret string, err error) {
	change := base.Change{Operation: operation.RotateKey, Subject: name, After: auditedOverlap(overlap)}
	err = ks.Base.Act(ctx, c, change, func(ctx context.Context, _ *base.Change) error {
		k, secret, err = ks.API.Rotate(ctx, c.Tenant, name, overlap)
		return err
	})
	return k, secret, err
}

// auditedOverlap is in the audit log how long a replaced secret stays valid.
func auditedOverlap(overlap core.Time) any {
	return map[string]int64{"overlapHours": int64(overlap / core.Hour)}
}

// Revoke removes a key; evenLast is that of tenants.APIKeys.Revoke.
func (ks *APIKeys) Revoke(ctx context.Context, c people.Caller, name string, evenLast bool) error {
	change := base.Change{Operation: operation.RevokeKey, Subject: name}
	return ks.Base.Act(ctx, c, change, func(ctx context.Context, change *base.Change) error {
		all, err := ks.API.List(ctx, c.Tenant)
		if err != nil {
			return err
		}
		for _, k := range all {
			if k.Name == name && k.Replaced == 0 {
				change.Before = auditedKey{k.Role, k.Expires}
			}
		}
		return ks.API.Revoke(ctx, c.Tenant, name, evenLast)
	})
}
