package tenantdb

import (
	"context"

	"kith/backend/store"
	"kith/core"
	"kith/core/auth"
)

// InsertKey adds an API key to a tenant. It returns false if the tenant has a key of
// this name.
func InsertKey(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, k auth.APIKey) (bool, error) {
	return tx.Inserted(ctx, "api key", `INSERT INTO api_key (tenant, hash, sealed, name, role, created_at, expires_at)
		VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (tenant, name) WHERE replaced_at IS NULL DO NOTHING`,
		string(tenant), k.Hash, k.Sealed, k.Name, string(k.Role), int64(k.Created), store.NullTime(k.Expires))
}

// ReplaceKey marks the secret of a key as replaced, so that InsertKey can add another
// one of the same name. The replaced secret expires at until, or earlier if it would
// have. A secret that was replaced before is deleted.
func ReplaceKey(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, name string, until core.Time) error {
	err := tx.Exec(ctx, "forget replaced key", `DELETE FROM api_key WHERE tenant = ? AND name = ? AND replaced_at IS NOT NULL`, string(tenant), name)
	if err != nil {
		return err
	}
	return tx.Exec(ctx, "replace key", `UPDATE api_key SET replaced_at = ?, expires_at = min(coalesce(expires_at, ?), ?) WHERE tenant = ? AND name = ?`,
		int64(tx.Now), int64(until), int64(until), string(tenant), name)
}

// DeleteKey deletes a key with all its secrets. It returns false if the tenant has
// none of this name.
func DeleteKey(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, name string) (bool, error) {
	return tx.Changed(ctx, "delete key", `DELETE FROM api_key WHERE tenant = ? AND name = ?`, string(tenant), name)
}

// DeleteExpiredSecrets deletes the replaced secrets of a tenant that have expired.
func DeleteExpiredSecrets(ctx context.Context, tx *store.Tx, tenant core.TenantAlias) error {
	return tx.Exec(ctx, "forget replaced keys", `DELETE FROM api_key WHERE tenant = ? AND replaced_at IS NOT NULL AND expires_at <= ?`,
		string(tenant), int64(tx.Now))
}

// RecordKeyUse records that a secret was used at the time of the transaction, unless
// a later use is recorded. hash is the SHA-256 of the secret in hex.
func RecordKeyUse(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, hash string) error {
	return tx.Exec(ctx, "use key", `UPDATE api_key SET used_at = ?1 WHERE tenant = ?2 AND hash = ?3 AND coalesce(used_at, 0) < ?1`,
		int64(tx.Now), string(tenant), hash)
}
