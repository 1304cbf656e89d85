package store

import (
	"context"

	"kith/core"
	"kith/core/auth"
)

// InsertKey adds a key to a tenant; false means that there is one of this name.
func (tx *Tx) InsertKey(ctx context.Context, tenant core.TenantAlias, k auth.APIKey) (bool, error) {
	return tx.inserted(ctx, "api key", `INSERT INTO api_key (tenant, hash, sealed, name, role, created_at, expires_at)
		VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (tenant, name) WHERE replaced_at IS NULL DO NOTHING`,
		string(tenant), k.Hash, k.Sealed, k.Name, string(k.Role), int64(k.Created), nullTime(k.Expires))
}

// ReplaceKey ends the secret of a key at a time, unless it ends before, and makes room
// for another one of the key's name. A secret that was replaced before it is removed.
func (tx *Tx) ReplaceKey(ctx context.Context, tenant core.TenantAlias, name string, until core.Time) error {
	err := tx.exec(ctx, "forget replaced key", `DELETE FROM api_key WHERE tenant = ? AND name = ? AND replaced_at IS NOT NULL`, string(tenant), name)
	if err != nil {
		return err
	}
	return tx.exec(ctx, "replace key", `UPDATE api_key SET replaced_at = ?, expires_at = min(coalesce(expires_at, ?), ?) WHERE tenant = ? AND name = ?`,
		int64(tx.Now), int64(until), int64(until), string(tenant), name)
}

// DeleteKey removes a key with all its secrets; false means that there is none.
func (tx *Tx) DeleteKey(ctx context.Context, tenant core.TenantAlias, name string) (bool, error) {
	return tx.changed(ctx, "delete key", `DELETE FROM api_key WHERE tenant = ? AND name = ?`, string(tenant), name)
}

// ForgetReplacedKeys removes the replaced secrets of a tenant that are no longer valid.
func (tx *Tx) ForgetReplacedKeys(ctx context.Context, tenant core.TenantAlias) error {
	return tx.exec(ctx, "forget replaced keys", `DELETE FROM api_key WHERE tenant = ? AND replaced_at IS NOT NULL AND expires_at <= ?`,
		string(tenant), int64(tx.Now))
}

// UseKey notes that a secret was used at the time of the transaction, unless a later use
// was noted.
func (tx *Tx) UseKey(ctx context.Context, tenant core.TenantAlias, hash string) error {
	return tx.exec(ctx, "use key", `UPDATE api_key SET used_at = ?1 WHERE tenant = ?2 AND hash = ?3 AND coalesce(used_at, 0) < ?1`,
		int64(tx.Now), string(tenant), hash)
}
