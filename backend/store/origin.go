package store

import (
	"context"
	"database/sql"
	"fmt"

	"kith/core"
	"kith/core/origin"
)

// Sites returns what origin.Allowed looks an origin up in.
func (r Reads) Sites(ctx context.Context, tenant core.TenantAlias) (string, error) {
	var sites sql.NullString
	if err := r.QueryRowContext(ctx, origin.Sites, string(tenant)).Scan(&sites); err != nil {
		return "", fmt.Errorf("store: sites: %w", err)
	}
	return sites.String, nil
}

// Origins returns the origins that a tenant lists, in order.
func (r Reads) Origins(ctx context.Context, tenant core.TenantAlias) ([]origin.Origin, error) {
	rows, err := r.QueryContext(ctx, `SELECT origin FROM tenant_origin WHERE tenant = ? ORDER BY origin`, string(tenant))
	return collect(rows, err, "origins", func(rows *sql.Rows, o *origin.Origin) error { return rows.Scan(o) })
}

// InsertOrigin lists an origin; false means that it was listed.
func (tx *Tx) InsertOrigin(ctx context.Context, tenant core.TenantAlias, o origin.Origin) (bool, error) {
	return tx.inserted(ctx, "origin", `INSERT INTO tenant_origin (tenant, origin, created_at)
		VALUES (?, ?, ?) ON CONFLICT (tenant, origin) DO NOTHING`, string(tenant), string(o), int64(tx.Now))
}

// DeleteOrigin takes an origin off the list; false means that it was not on it.
func (tx *Tx) DeleteOrigin(ctx context.Context, tenant core.TenantAlias, o origin.Origin) (bool, error) {
	return tx.changed(ctx, "delete origin", `DELETE FROM tenant_origin WHERE tenant = ? AND origin = ?`, string(tenant), string(o))
}
