package tenantdb

import (
	"context"
	"database/sql"
	"fmt"

	"kith/backend/store"
	"kith/core"
	"kith/core/origin"
)

// Sites returns what origin.Allowed looks an origin up in.
func Sites(ctx context.Context, r store.Reads, tenant core.TenantAlias) (string, error) {
	var sites sql.NullString
	if err := r.QueryRowContext(ctx, origin.Sites, string(tenant)).Scan(&sites); err != nil {
		return "", fmt.Errorf("store: sites: %w", err)
	}
	return sites.String, nil
}

// Origins returns the origins that a tenant lists, in order.
func Origins(ctx context.Context, r store.Reads, tenant core.TenantAlias) ([]origin.Origin, error) {
	return store.List[origin.Origin](ctx, r, "origins", `SELECT origin FROM tenant_origin WHERE tenant = ? ORDER BY origin`, string(tenant))
}

// InsertOrigin lists an origin; false means that it was listed.
func InsertOrigin(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, o origin.Origin) (bool, error) {
	return tx.Inserted(ctx, "origin", `INSERT INTO tenant_origin (tenant, origin, created_at)
		VALUES (?, ?, ?) ON CONFLICT (tenant, origin) DO NOTHING`, string(tenant), string(o), int64(tx.Now))
}

// DeleteOrigin takes an origin off the list; false means that it was not on it.
func DeleteOrigin(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, o origin.Origin) (bool, error) {
	return tx.Changed(ctx, "delete origin", `DELETE FROM tenant_origin WHERE tenant = ? AND origin = ?`, string(tenant), string(o))
}
