package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"kith/core"
	"kith/core/billing"
)

// Connection returns how a tenant's gateway is reached, with private keys that
// are sealed; ok is false when it is not connected.
func (r Reads) Connection(ctx context.Context, tenant core.TenantAlias) (c billing.Connection, ok bool, err error) {
	err = r.q.QueryRowContext(ctx, `SELECT merchant_id, base_url, created_at, coalesce(checked_at, 0)
		FROM gateway_connection WHERE tenant = ?`, string(tenant)).Scan(&c.MerchantID, &c.BaseURL, &c.Created, &c.Checked)
	if errors.Is(err, sql.ErrNoRows) {
		return c, false, nil
	}
	if err != nil {
		return c, false, fmt.Errorf("store: gateway connection: %w", err)
	}
	rows, err := r.q.QueryContext(ctx, `SELECT public_key, private_key FROM gateway_key WHERE tenant = ? ORDER BY place`, string(tenant))
	c.Keys, err = collect(rows, err, "gateway keys", func(rows *sql.Rows, k *billing.Key) error { return rows.Scan(&k.Public, &k.Private) })
	return c, true, err
}

// Connected reports whether a tenant's gateway is connected.
func (r Reads) Connected(ctx context.Context, tenant core.TenantAlias) (connected bool, err error) {
	err = r.q.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM gateway_connection WHERE tenant = ?)`, string(tenant)).Scan(&connected)
	if err != nil {
		return false, fmt.Errorf("store: gateway connected: %w", err)
	}
	return connected, nil
}

// PutConnection stores how a tenant's gateway is reached, with private keys that
// are sealed. When it was connected first, and checked last, stays; its
// subscriptions are looked for again.
func (tx *Tx) PutConnection(ctx context.Context, tenant core.TenantAlias, c billing.Connection) error {
	err := tx.exec(ctx, "put gateway connection", `INSERT INTO gateway_connection (tenant, merchant_id, base_url, created_at)
		VALUES (?, ?, ?, ?) ON CONFLICT (tenant) DO UPDATE SET merchant_id = excluded.merchant_id, base_url = excluded.base_url,
			swept_at = 0, swept_all_at = 0, sweep_at = 0`,
		string(tenant), c.MerchantID, c.BaseURL, int64(tx.Now))
	if err == nil {
		err = tx.exec(ctx, "forget gateway keys", `DELETE FROM gateway_key WHERE tenant = ?`, string(tenant))
	}
	for i, k := range c.Keys {
		if err != nil {
			return err
		}
		err = tx.exec(ctx, "put gateway key", `INSERT INTO gateway_key (tenant, public_key, private_key, place) VALUES (?, ?, ?, ?)`,
			string(tenant), k.Public, k.Private, i)
	}
	return err
}

// DeleteConnection forgets how a tenant's gateway is reached, with all keys;
// false means that it was not connected.
func (tx *Tx) DeleteConnection(ctx context.Context, tenant core.TenantAlias) (bool, error) {
	// Not left to the cascade: a file that was opened without foreign keys
	// would keep the keys.
	if err := tx.exec(ctx, "forget gateway keys", `DELETE FROM gateway_key WHERE tenant = ?`, string(tenant)); err != nil {
		return false, err
	}
	return tx.changed(ctx, "delete gateway connection", `DELETE FROM gateway_connection WHERE tenant = ?`, string(tenant))
}
