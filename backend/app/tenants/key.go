package tenants

import (
	"context"
	"strconv"
	"strings"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/auth"
	"kith/core/rules"
)

// APIKeys are the keys that tenants call with, and those that sign user tokens.
type APIKeys struct {
	*base.Base
	uses keyUses
}

// List returns a tenant's keys with all their secrets but those that a rotation
// replaced and that are no longer valid, the first made first.
func (ks *APIKeys) List(ctx context.Context, alias core.TenantAlias) (keys auth.APIKeys, err error) {
	tenant, err := tenantdb.Find(ctx, ks.DB.Reads, alias)
	for _, k := range tenant.Keys {
		if k.Replaced == 0 || k.Valid(ks.Now()) {
			k.Used = ks.uses.of(alias, k)
			keys = append(keys, k)
		}
	}
	return keys, err
}

// Create adds a key and returns it with its secret, which nothing shows again.
// expires is the first moment at which it is no longer valid; zero: it does not
// expire. A name that is taken is a conflict.
func (ks *APIKeys) Create(ctx context.Context, alias core.TenantAlias, name string, role auth.Role, expires core.Time) (k auth.APIKey, secret string, err error) {
	if _, err := auth.ParseKeyName("name", name); err != nil {
		return k, "", err
	}
	secret = ks.makeSecret(alias, role)
	err = ks.DB.Write(ctx, ks.Now(), func(tx *store.Tx) error {
		tenant, err := tenantdb.Find(ctx, tx.Reads, alias)
		if err != nil {
			return err
		}
		if expires != 0 && expires <= tx.Now {
			return core.Invalid("dateExpires", "must lie ahead")
		}
		if countKeys(tenant.Keys) >= auth.MaxKeys {
			return core.Invalid("name", "a tenant has at most "+strconv.Itoa(auth.MaxKeys)+" keys; revoke one first")
		}
		if err := tenantdb.DeleteExpiredSecrets(ctx, tx, alias); err != nil {
			return err
		}
		k = auth.APIKey{Name: name, Role: role, Created: tx.Now, Expires: expires}
		return ks.add(ctx, tx, alias, &k, secret)
	})
	return k, secret, err
}

// add stores a key with a secret.
func (ks *APIKeys) add(ctx context.Context, tx *store.Tx, alias core.TenantAlias, k *auth.APIKey, secret string) (err error) {
	k.Hash = auth.KeyHash(secret)
	if k.Role.Signs() {
		if k.Sealed, err = ks.Seal(auth.KeyPlace(alias), secret); err != nil {
			return err
		}
	}
	added, err := tenantdb.InsertKey(ctx, tx, alias, *k)
	if err == nil && !added {
		err = &core.Error{Code: core.CodeConflict, Field: "name", Message: "there is a key " + k.Name + " already; give another name, or rotate it"}
	}
	return err
}

// Rotate gives a key a new secret and returns both; the old secret stays valid for
// the overlap, and one that was replaced earlier is not valid from now on.
func (ks *APIKeys) Rotate(ctx context.Context, alias core.TenantAlias, name string, overlap core.Time) (k auth.APIKey, secret string, err error) {
	if overlap < 0 || overlap > auth.MaxOverlap {
		return k, "", core.Invalid("overlap", "must be 0 to 720 hours (30 days)")
	}
	err = ks.DB.Write(ctx, ks.Now(), func(tx *store.Tx) error {
		old, err := currentKey(ctx, tx, alias, name)
		if err != nil {
			return err
		}
		secret = ks.makeSecret(alias, old.Role)
		if !old.Valid(tx.Now) {
			return core.Invalid("name", "the key "+name+" has expired; revoke it, and create another one")
		}
		if err := tenantdb.ReplaceKey(ctx, tx, alias, name, tx.Now+overlap); err != nil {
			return err
		}
		if err := tenantdb.DeleteExpiredSecrets(ctx, tx, alias); err != nil {
			return err
		}
		k = auth.APIKey{Name: name, Role: old.Role, Created: old.Created, Expires: old.Expires}
		return ks.add(ctx, tx, alias, &k, secret)
	})
	return k, secret, err
}

// Revoke ends a key with all its secrets at once. A tenant's last key of the role
// all is a conflict unless evenLast is true: without one, no caller could make keys by
// API.
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

// currentKey is a key by its newest secret, or a not-found error.
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

// countKeys counts the keys, each of which has one or two secrets.
func countKeys(keys auth.APIKeys) (n int) {
	for _, k := range keys {
		if k.Replaced == 0 {
			n++
		}
	}
	return n
}

// MakeKey makes an API key of 192 random bits behind a prefix that tells live
// and test apart (clients 2.1.3).
func (ks *APIKeys) MakeKey(alias core.TenantAlias) string {
	prefix := "LIVE_"
	if strings.HasPrefix(string(alias), base.TestPrefix) {
		prefix = "TEST_"
	}
	raw := make([]byte, 40)
	ks.Entropy(raw)
	for i := range raw {
		raw[i] = rules.CodeAlphabet[raw[i]&31]
	}
	return prefix + string(raw)
}

// MakeTokenKey makes a key that signs user tokens, which looks like no API key.
func (ks *APIKeys) MakeTokenKey(alias core.TenantAlias) string { return "TOKEN_" + ks.MakeKey(alias) }

// makeSecret makes a secret for a role.
func (ks *APIKeys) makeSecret(alias core.TenantAlias, role auth.Role) string {
	if role == auth.RoleTokens {
		return ks.MakeTokenKey(alias)
	}
	return ks.MakeKey(alias)
}
