package tenants

import (
	"context"
	"strconv"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/tenantdb"
	"kith/core"
)

// SFTPKeys are the keys that may send files by SFTP.
type SFTPKeys struct{ *base.Base }

// maxSFTPKeys is how many keys a tenant has at most.
const maxSFTPKeys = 20

// List returns the keys that may send a tenant's files, the first made
// first.
func (sk *SFTPKeys) List(ctx context.Context, tenant core.TenantAlias) ([]tenantdb.SFTPKey, error) {
	if _, err := tenantdb.Find(ctx, sk.DB.Reads, tenant); err != nil {
		return nil, err
	}
	return tenantdb.SFTPKeys(ctx, sk.DB.Reads, tenant)
}

// Add lets a key send a tenant's files; false means that it may already.
func (sk *SFTPKeys) Add(ctx context.Context, tenant core.TenantAlias, k tenantdb.SFTPKey) (added bool, err error) {
	err = sk.DB.Write(ctx, sk.Now(), func(tx *store.Tx) error {
		if _, err := tenantdb.Find(ctx, tx.Reads, tenant); err != nil {
			return err
		}
		if added, err = tenantdb.InsertSFTPKey(ctx, tx, tenant, k); err != nil {
			return err
		}
		keys, err := tenantdb.SFTPKeys(ctx, tx.Reads, tenant)
		if err == nil && len(keys) > maxSFTPKeys {
			err = core.Invalid("key", "a tenant has at most "+strconv.Itoa(maxSFTPKeys))
		}
		return err
	})
	return added && err == nil, err
}

// Remove ends that, also for who is connected, or is a not-found error.
func (sk *SFTPKeys) Remove(ctx context.Context, tenant core.TenantAlias, fingerprint string) error {
	return sk.DB.Write(ctx, sk.Now(), func(tx *store.Tx) error {
		if _, err := tenantdb.Find(ctx, tx.Reads, tenant); err != nil {
			return err
		}
		removed, err := tenantdb.DeleteSFTPKey(ctx, tx, tenant, fingerprint)
		if err == nil && !removed {
			err = core.NotFound("the tenant has no key with this fingerprint")
		}
		return err
	})
}

// Known reports whether a key may send a tenant's files. A tenant that
// there is not looks like one that has no keys.
func (sk *SFTPKeys) Known(ctx context.Context, tenant core.TenantAlias, fingerprint string) (bool, error) {
	return tenantdb.SFTPKeyExists(ctx, sk.DB.Reads, tenant, fingerprint)
}

// Use notes that somebody came with a key.
func (sk *SFTPKeys) Use(ctx context.Context, tenant core.TenantAlias, fingerprint string) error {
	return sk.DB.Write(ctx, sk.Now(), func(tx *store.Tx) error {
		_, err := tenantdb.RecordSFTPKeyUse(ctx, tx, tenant, fingerprint)
		return err
	})
}
