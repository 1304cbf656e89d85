package app

import (
	"context"
	"strconv"

	"kith/backend/store"
	"kith/core"
)

// maxSFTPKeys is how many keys a tenant has at most.
const maxSFTPKeys = 20

// SFTPKeys returns the keys that may send a tenant's files, the first made
// first.
func (e *Engine) SFTPKeys(ctx context.Context, tenant core.TenantAlias) ([]store.SFTPKey, error) {
	if _, err := e.DB.Tenant(ctx, tenant); err != nil {
		return nil, err
	}
	return e.DB.SFTPKeys(ctx, tenant)
}

// AddSFTPKey lets a key send a tenant's files; false means that it may already.
func (e *Engine) AddSFTPKey(ctx context.Context, tenant core.TenantAlias, k store.SFTPKey) (added bool, err error) {
	err = e.DB.Write(ctx, e.Now(), func(tx *store.Tx) error {
		if _, err := tx.Tenant(ctx, tenant); err != nil {
			return err
		}
		if added, err = tx.InsertSFTPKey(ctx, tenant, k); err != nil {
			return err
		}
		keys, err := tx.SFTPKeys(ctx, tenant)
		if err == nil && len(keys) > maxSFTPKeys {
			err = core.Invalid("key", "a tenant has at most "+strconv.Itoa(maxSFTPKeys))
		}
		return err
	})
	return added && err == nil, err
}

// RemoveSFTPKey ends that, also for who is connected, or is a not-found error.
func (e *Engine) RemoveSFTPKey(ctx context.Context, tenant core.TenantAlias, fingerprint string) error {
	return e.DB.Write(ctx, e.Now(), func(tx *store.Tx) error {
		if _, err := tx.Tenant(ctx, tenant); err != nil {
			return err
		}
		removed, err := tx.DeleteSFTPKey(ctx, tenant, fingerprint)
		if err == nil && !removed {
			err = core.NotFound("the tenant has no key with this fingerprint")
		}
		return err
	})
}

// SFTPKeyKnown reports whether a key may send a tenant's files. A tenant that
// there is not looks like one that has no keys.
func (e *Engine) SFTPKeyKnown(ctx context.Context, tenant core.TenantAlias, fingerprint string) (bool, error) {
	return e.DB.SFTPKeyKnown(ctx, tenant, fingerprint)
}

// UseSFTPKey notes that somebody came with a key.
func (e *Engine) UseSFTPKey(ctx context.Context, tenant core.TenantAlias, fingerprint string) error {
	return e.DB.Write(ctx, e.Now(), func(tx *store.Tx) error {
		_, err := tx.UseSFTPKey(ctx, tenant, fingerprint)
		return err
	})
}
