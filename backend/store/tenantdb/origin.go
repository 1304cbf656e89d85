package tenantdb

import (
	"context"
	"database/sql"

	"kith/backend/store"
	"kith/core"
	"kith/core/origin"
)

// Sites returns the allowed origins of a tenant in the form that origin.Allowed
// takes: those that it lists, and those of its landing pages.
func Sites(ctx context.Context, r store.Reads, tenant core.TenantAlias) (string, error) {
	sites, err := store.One[sql.NullString](ctx, r, "sites", origin.Sites, string(tenant))
	return sites.String, err
}

// Origins returns the origins that a tenant lists, in alphabetical order.
func Origins(ctx context.Context, r store.Reads, tenant core.TenantAlias) ([]origin.Origin, error) {
	return store.List[origin.Origin](ctx, r, "origins", `SELECT origin FROM tenant_origin WHERE tenant = ? ORDER BY origin`, string(tenant))
}

// InsertOrigin adds an origin to a tenant's list. It returns false if it is listed
// already.
func InsertOrigin(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, o origin.Origin) (bool, error) {
	return tx.Inserted(ctx, "origin", `INSERT INTO tenant_origin (tenant, origin, created_at)
		VALUES (?, ?, ?) ON CONFLICT (tenant, origin) DO NOTHING`, string(tenant), string(o), int64(tx.Now))
}

// DeleteOrigin removes an origin from a tenant's list. It returns false if it is not
// listed.
func DeleteOrigin(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, o origin.Origin) (bool, error) {
	return tx.Changed(ctx, "delete origin", `DELETE FROM tenant_origin WHERE tenant = ? AND origin = ?`, string(tenant), string(o))
}
