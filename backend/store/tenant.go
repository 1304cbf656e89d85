package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"kith/core"
	"kith/core/link"
)

// Tenant is a stored tenant.
type Tenant struct {
	Alias core.TenantAlias
	// KeyHash and KeySealed are the API key for look-up and, under the master
	// key, for signing.
	KeyHash, KeySealed string
	// DiscountID is the tenant's discount at the payment gateway.
	DiscountID string
	Policy     link.Policy
	Created    core.Time
}

// Tenant returns a tenant, or core.UnknownTenant.
func (r Reads) Tenant(ctx context.Context, alias core.TenantAlias) (Tenant, error) {
	t := Tenant{Alias: alias}
	err := r.q.QueryRowContext(ctx, `SELECT key_hash, key_sealed, discount_id, consent, consent_cookie, created_at
		FROM tenant WHERE alias = ?`, string(alias)).
		Scan(&t.KeyHash, &t.KeySealed, &t.DiscountID, &t.Policy.Consent, &t.Policy.ConsentCookie, &t.Created)
	if errors.Is(err, sql.ErrNoRows) {
		return Tenant{}, core.UnknownTenant()
	}
	if err != nil {
		return Tenant{}, fmt.Errorf("store: tenant: %w", err)
	}
	return t, nil
}

// TenantByHost returns the tenant whose shop has that host, or a not-found
// error.
func (r Reads) TenantByHost(ctx context.Context, host string) (core.TenantAlias, error) {
	var alias core.TenantAlias
	err := r.q.QueryRowContext(ctx, `SELECT tenant FROM site WHERE host = ?`, host).Scan(&alias)
	if errors.Is(err, sql.ErrNoRows) {
		return "", core.NotFound("no tenant has a shop on this host")
	}
	if err != nil {
		return "", fmt.Errorf("store: site: %w", err)
	}
	return alias, nil
}

// InsertTenant adds a tenant; false means that the alias is taken.
func (tx *Tx) InsertTenant(ctx context.Context, t Tenant) (bool, error) {
	return tx.inserted(ctx, "tenant", `INSERT INTO tenant
		(alias, key_hash, key_sealed, discount_id, consent, consent_cookie, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (alias) DO NOTHING`,
		string(t.Alias), t.KeyHash, t.KeySealed, t.DiscountID, string(t.Policy.Consent), t.Policy.ConsentCookie, int64(t.Created))
}

// ClaimSite names the tenant of a shop's host; a host that has one keeps it.
func (tx *Tx) ClaimSite(ctx context.Context, host string, tenant core.TenantAlias) (bool, error) {
	return tx.inserted(ctx, "site", `INSERT INTO site (host, tenant) VALUES (?, ?) ON CONFLICT (host) DO NOTHING`,
		host, string(tenant))
}

// inserted runs an INSERT … ON CONFLICT DO NOTHING and reports whether it made
// a row.
func (tx *Tx) inserted(ctx context.Context, what, statement string, args ...any) (bool, error) {
	result, err := tx.q.ExecContext(ctx, statement, args...)
	if err != nil {
		return false, fmt.Errorf("store: insert %s: %w", what, err)
	}
	n, err := result.RowsAffected()
	return n == 1, err
}

// exec runs a statement that must succeed.
func (tx *Tx) exec(ctx context.Context, what, statement string, args ...any) error {
	if _, err := tx.q.ExecContext(ctx, statement, args...); err != nil {
		return fmt.Errorf("store: %s: %w", what, err)
	}
	return nil
}
