package tenants

import (
	"context"
	"strconv"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/auth"
)

// APIKeys manages the API keys of tenants, and their keys that sign user tokens.
type APIKeys struct {
	*base.Base
	uses keyUses
}

// List returns a tenant's keys in the order of their creation. A key whose secret was
// replaced is listed twice while the old secret is valid.
func (ks *APIKeys) List(ctx context.Context, alias core.TenantAlias) (keys auth.APIKeys, err error) {
	tenant, err := tenantdb.Find(ctx, ks.DB.Reads, alias)
	for _, k := range tenant.Keys {
		if k.Replaced == 0 || k.Valid(ks.Now()) {
			k.Used = ks.uses.lastUse(alias, k)
			keys = append(keys, k)
		}
	}
	return keys, err
}

// Create adds a key and returns it with its secret, which cannot be read again later.
// From the time expires on the key is not valid; zero means that it does not expire. A
// name that is in use is a conflict. A tenant has at most auth.MaxKeys keys.
func (ks *APIKeys) Create(ctx context.Context, alias core.TenantAlias, name string, role auth.Role, expires core.Time) (k auth.APIKey, secret string, err error) {
	if _, err := auth.ParseKeyName("name", name); err != nil {
		return k, "", err
	}
	secret = ks.makeSecret(alias, role)
	k, err = store.WriteValue(ctx, ks.DB.Write, ks.Now(), func(tx *store.Tx) (k auth.APIKey, err error) {
		tenant, err := tenantdb.Find(ctx, tx.Reads, alias)
		if err != nil {
			return k, err
		}
		if expires != 0 && expires <= tx.Now {
			return k, core.Invalid("dateExpires", "must be in the future")
		}
		if countKeys(tenant.Keys) >= auth.MaxKeys {
			return k, core.Invalid("name", "a tenant has at most "+strconv.Itoa(auth.MaxKeys)+" keys; revoke one first")
		}
		if err := tenantdb.DeleteExpiredSecrets(ctx, tx, alias); err != nil {
			return k, err
		}
		k = auth.APIKey{Name: name, Role: role, Created: tx.Now, Expires: expires}
		return ks.add(ctx, tx, alias, k, secret)
	})
	return k, secret, err
}

// add stores a key with a secret, and returns it as stored.
func (ks *APIKeys) add(ctx context.Context, tx *store.Tx, alias core.TenantAlias, k auth.APIKey, secret string) (auth.APIKey, error) {
	var err error
	k.Hash = auth.KeyHash(secret)
	if k.Role.Signs() {
		if k.Sealed, err = ks.Seal(auth.KeyPlace(alias), secret); err != nil {
			return k, err
		}
	}
	added, err := tenantdb.InsertKey(ctx, tx, alias, k)
	if err == nil && !added {
		err = &core.Error{
			Code: core.CodeConflict, Field: "name", Message: "there is a key " + k.Name + " already; give another name, or rotate that key",
			Form: "is that of another key; give another name, or rotate that key",
		}
	}
	return k, err
}

// Rotate gives a key a new secret and returns both. The old secret stays valid for the
// overlap, at most auth.MaxOverlap. A secret that an earlier rotation replaced is no
// longer valid. An unknown key is a not-found error.
func (ks *APIKeys) Rotate(ctx context.Context, alias core.TenantAlias, name string, overlap core.Time) (k auth.APIKey, secret string, err error) {
	if overlap < 0 || overlap > auth.MaxOverlap {
		return k, "", core.Invalid("overlap", "must be 0 to 720 hours (30 days)")
	}
	type rotated struct {
		auth.APIKey
		secret string
	}
	r, err := store.WriteValue(ctx, ks.DB.Write, ks.Now(), func(tx *store.Tx) (r rotated, err error) {
		old, err := currentKey(ctx, tx, alias, name)
		if err != nil {
			return r, err
		}
		if !old.Valid(tx.Now) {
			return r, core.Invalid("name", "the key "+name+" has expired; revoke it and create another one")
		}
		if err := tenantdb.ReplaceKey(ctx, tx, alias, name, tx.Now+overlap); err != nil {
			return r, err
		}
		if err := tenantdb.DeleteExpiredSecrets(ctx, tx, alias); err != nil {
			return r, err
		}
		r.secret = ks.makeSecret(alias, old.Role)
		r.APIKey, err = ks.add(ctx, tx, alias, auth.APIKey{Name: name, Role: old.Role, Created: old.Created, Expires: old.Expires}, r.secret)
		return r, err
	})
	return r.APIKey, r.secret, err
}

// Revoke removes a key with all its secrets at once. Removing the tenant's last valid key
// with auth.RoleAll is a conflict unless evenLast is true, because only such a key can
// create keys through the API. An unknown key is a not-found error.
func (ks *APIKeys) Revoke(ctx context.Context, alias core.TenantAlias, name string, evenLast bool) error {
	return ks.DB.Write(ctx, ks.Now(), func(tx *store.Tx) error {
		k, err := currentKey(ctx, tx, alias, name)
		if err != nil {
			return err
		}
		if _, err := tenantdb.DeleteKey(ctx, tx, alias, name); err != nil {
			return err
		}
		tenant, err := tenantdb.Find(ctx, tx.Reads, alias)
		if err != nil {
			return err
		}
		if _, ok := tenant.Keys.Primary(tx.Now); !ok && k.Role == auth.RoleAll && !evenLast {
			return &core.Error{
				Code: core.CodeConflict, Field: "name",
				Message: "the key " + name + " is the last one with the role all; create another one first, or rotate it",
			}
		}
		return nil
	})
}

// currentKey returns a key with its newest secret, or a not-found error.
func currentKey(ctx context.Context, tx *store.Tx, alias core.TenantAlias, name string) (auth.APIKey, error) {
	tenant, err := tenantdb.Find(ctx, tx.Reads, alias)
	if err != nil {
		return auth.APIKey{}, err
	}
	for _, k := range tenant.Keys {
		if k.Name == name && k.Replaced == 0 {
			return k, nil
		}
	}
	return auth.APIKey{}, core.NotFound("the tenant has no key " + name)
}

// countKeys returns the number of keys, each of which has one or two secrets.
func countKeys(keys auth.APIKeys) (n int) {
	for _, k := range keys {
		if k.Replaced == 0 {
			n++
		}
	}
	return n
}

// MakeKey makes the secret of an API key: the prefix LIVE_ or TEST_ of the tenant's mode
// (clients 2.1.3), and a base.Base.NewSecret.
func (ks *APIKeys) MakeKey(alias core.TenantAlias) string {
	if base.Live(alias) {
		return "LIVE_" + ks.NewSecret()
	}
	return "TEST_" + ks.NewSecret()
}

// MakeTokenKey makes the secret of a key that signs user tokens. Its prefix, TOKEN_,
// distinguishes it from API keys.
func (ks *APIKeys) MakeTokenKey(alias core.TenantAlias) string { return "TOKEN_" + ks.MakeKey(alias) }

// makeSecret makes the secret of a key with the given role.
func (ks *APIKeys) makeSecret(alias core.TenantAlias, role auth.Role) string {
	if role == auth.RoleTokens {
		return ks.MakeTokenKey(alias)
	}
	return ks.MakeKey(alias)
}
