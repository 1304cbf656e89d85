package billingdb

import (
	"cmp"
	"context"

	"kith/backend/store"
	"kith/core"
	"kith/core/billing"
)

var connectionColumns = store.Selection[billing.Connection]{
	store.Col(`kind`, func(c *billing.Connection) any { return &c.Kind }),
	store.Col(`merchant_id`, func(c *billing.Connection) any { return &c.MerchantID }),
	store.Col(`endpoint_id`, func(c *billing.Connection) any { return &c.Endpoint }),
	store.Col(`credit`, func(c *billing.Connection) any { return &c.Credit }),
	store.Col(`count_tax`, func(c *billing.Connection) any { return &c.CountTax }),
	store.Col(`count_shipping`, func(c *billing.Connection) any { return &c.CountShipping }),
	store.Col(`base_url`, func(c *billing.Connection) any { return &c.BaseURL }),
	store.Col(`created_at`, func(c *billing.Connection) any { return &c.Created }),
	store.Col(`coalesce(checked_at, 0)`, func(c *billing.Connection) any { return &c.Checked }),
}

var gatewayKeyColumns = store.Selection[billing.Key]{
	store.Col(`public_key`, func(k *billing.Key) any { return &k.Public }),
	store.Col(`private_key`, func(k *billing.Key) any { return &k.Private }),
	store.Col(`coalesce(expires_at, 0)`, func(k *billing.Key) any { return &k.Until }),
}

// Connection returns a tenant's connection to its gateway, with sealed private keys;
// ok is false if the tenant has none.
func Connection(ctx context.Context, r store.Reads, tenant core.TenantAlias) (c billing.Connection, ok bool, err error) {
	ok, err = connectionColumns.One(r.QueryRowContext(ctx, `SELECT `+connectionColumns.SQL()+` FROM gateway_connection WHERE tenant = ?`,
		string(tenant)), "gateway connection", &c)
	if err != nil || !ok {
		return c, false, err
	}
	rows, err := r.QueryContext(ctx, `SELECT `+gatewayKeyColumns.SQL()+` FROM gateway_key WHERE tenant = ? ORDER BY place`, string(tenant))
	c.Keys, err = gatewayKeyColumns.All(rows, err, "gateway keys")
	return c, true, err
}

// Connected reports whether a tenant has a connection to a gateway.
func Connected(ctx context.Context, r store.Reads, tenant core.TenantAlias) (bool, error) {
	return store.One[bool](ctx, r, "gateway connected", `SELECT EXISTS (SELECT 1 FROM gateway_connection WHERE tenant = ?)`, string(tenant))
}

// PutConnection stores a tenant's connection to its gateway. The private keys must be
// sealed. An existing connection keeps the times when it was created and, with the same
// webhook endpoint, last checked; its subscriptions are searched for again.
func PutConnection(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, c billing.Connection) error {
	err := tx.Exec(ctx, "put gateway connection", `INSERT INTO gateway_connection (tenant, kind, merchant_id, base_url, created_at,
			endpoint_id, credit, count_tax, count_shipping) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (tenant) DO UPDATE SET kind = excluded.kind, merchant_id = excluded.merchant_id, base_url = excluded.base_url,
			endpoint_id = excluded.endpoint_id, credit = excluded.credit, count_tax = excluded.count_tax, count_shipping = excluded.count_shipping,
			created_at = iif(kind = excluded.kind, created_at, excluded.created_at), checked_at = iif(kind = excluded.kind AND endpoint_id = excluded.endpoint_id, checked_at, NULL),
			swept_at = iif(kind = excluded.kind AND merchant_id = excluded.merchant_id AND kind = 'stripe', swept_at, 0), swept_all_at = 0, sweep_at = 0, leased_by = NULL`,
		string(tenant), string(c.Kind), c.MerchantID, c.BaseURL, int64(tx.Now), c.Endpoint, string(cmp.Or(c.Credit, billing.CreditCoupon)), c.CountTax, c.CountShipping)
	if err == nil {
		err = tx.Exec(ctx, "forget gateway keys", `DELETE FROM gateway_key WHERE tenant = ?`, string(tenant))
	}
	for i, k := range c.Keys {
		if err != nil {
			return err
		}
		err = tx.Exec(ctx, "put gateway key", `INSERT INTO gateway_key (tenant, public_key, private_key, place, expires_at) VALUES (?, ?, ?, ?, nullif(?, 0))`,
			string(tenant), k.Public, k.Private, i, int64(k.Until))
	}
	return err
}

// DeleteConnection deletes a tenant's connection to its gateway and its keys. It
// returns false if the tenant has none.
func DeleteConnection(ctx context.Context, tx *store.Tx, tenant core.TenantAlias) (bool, error) {
	// Without foreign keys, the cascade would not delete the keys.
	if err := tx.Exec(ctx, "forget gateway keys", `DELETE FROM gateway_key WHERE tenant = ?`, string(tenant)); err != nil {
		return false, err
	}
	return tx.Changed(ctx, "delete gateway connection", `DELETE FROM gateway_connection WHERE tenant = ?`, string(tenant))
}
