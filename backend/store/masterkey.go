package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"kith/core"
)

// KeyEvidence is what a database has that tells its master key from others; the zero
// value fits any.
type KeyEvidence struct {
	// Fingerprint is that of the master key, empty in a database of an older kith.
	Fingerprint string
	// Tenant has a secret that is sealed under the master key, Sealed; both are empty
	// while there is no tenant.
	Tenant core.TenantAlias
	Sealed string
}

// KeyEvidence returns what tells the master key of the database, of whatever schema.
func (r Reads) KeyEvidence(ctx context.Context) (k KeyEvidence, err error) {
	for _, ask := range []struct {
		table, query string
		into         []any
	}{
		{"master_key", `SELECT fingerprint FROM master_key`, []any{&k.Fingerprint}},
		// Where a tenant's only key was, and where keys are.
		{tenants, `SELECT alias, key_sealed FROM tenant WHERE key_sealed <> '' LIMIT 1`, []any{&k.Tenant, &k.Sealed}},
		{"api_key", `SELECT tenant, sealed FROM api_key WHERE sealed <> '' LIMIT 1`, []any{&k.Tenant, &k.Sealed}},
	} {
		has, err := r.hasTable(ctx, ask.table)
		if err == nil && has {
			err = r.q.QueryRowContext(ctx, ask.query).Scan(ask.into...)
		}
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return k, fmt.Errorf("store: master key: %w", err)
		}
	}
	return k, nil
}

// KeyEvidence is that of the copy.
func (r *Replica) KeyEvidence(ctx context.Context) (KeyEvidence, error) {
	return Reads{q: r.db}.KeyEvidence(ctx)
}

// KeepKeyFingerprint notes the fingerprint of the master key, unless there is one, and
// returns the one that is there then: two processes may start on a new database.
func (p *Primary) KeepKeyFingerprint(ctx context.Context, now core.Time, fingerprint string) (kept string, err error) {
	err = p.Write(ctx, now, func(tx *Tx) error {
		if err := tx.exec(ctx, "keep fingerprint", `UPDATE master_key SET fingerprint = ? WHERE fingerprint = ''`, fingerprint); err != nil {
			return err
		}
		return tx.q.QueryRowContext(ctx, `SELECT fingerprint FROM master_key`).Scan(&kept)
	})
	return kept, err
}
