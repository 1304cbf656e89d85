package tenants

import (
	"context"
	"strconv"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/tenantdb"
	"kith/core"
)

// SFTPKeys manages the public keys of the clients that may upload files by SFTP.
type SFTPKeys struct {
	*base.Base
	// Server is the SFTP server of this process, or nil: then another process may have one.
	Server *SFTPServer
}

// SFTPServer is what clients of an SFTP server need to know of it.
type SFTPServer struct {
	// Addr is the address that it listens on, as host:port. HostKey is the fingerprint of
	// its key, in the form of tenantdb.SFTPKey.
	Addr, HostKey string
}

// maxSFTPKeys is the number of keys that a tenant has at most.
const maxSFTPKeys = 20

// List returns the SFTP keys of a tenant in the order of their creation.
func (sk *SFTPKeys) List(ctx context.Context, tenant core.TenantAlias) ([]tenantdb.SFTPKey, error) {
	if _, err := tenantdb.Find(ctx, sk.DB.Reads, tenant); err != nil {
		return nil, err
	}
	return tenantdb.SFTPKeys(ctx, sk.DB.Reads, tenant)
}

// Add allows a key to upload files of a tenant. added is false if it was allowed before.
// A tenant has at most 20 keys.
func (sk *SFTPKeys) Add(ctx context.Context, tenant core.TenantAlias, k tenantdb.SFTPKey) (added bool, err error) {
	return store.WriteValue(ctx, sk.DB.Write, sk.Now(), func(tx *store.Tx) (added bool, err error) {
		if _, err := tenantdb.Find(ctx, tx.Reads, tenant); err != nil {
			return added, err
		}
		if added, err = tenantdb.InsertSFTPKey(ctx, tx, tenant, k); err != nil {
			return added, err
		}
		keys, err := tenantdb.SFTPKeys(ctx, tx.Reads, tenant)
		if err == nil && len(keys) > maxSFTPKeys {
			err = core.Invalid("key", "a tenant has at most "+strconv.Itoa(maxSFTPKeys)+" SFTP keys; remove one first")
		}
		return added, err
	})
}

// Remove removes a key by its fingerprint, or returns a not-found error. A client that is
// connected with the key can upload nothing more.
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

// Known reports whether a key may upload files of a tenant. For an unknown tenant it
// returns false.
func (sk *SFTPKeys) Known(ctx context.Context, tenant core.TenantAlias, fingerprint string) (bool, error) {
	return tenantdb.SFTPKeyExists(ctx, sk.DB.Reads, tenant, fingerprint)
}

// Use records that a client has connected with a key now.
func (sk *SFTPKeys) Use(ctx context.Context, tenant core.TenantAlias, fingerprint string) error {
	return sk.DB.Write(ctx, sk.Now(), func(tx *store.Tx) error {
		_, err := tenantdb.RecordSFTPKeyUse(ctx, tx, tenant, fingerprint)
		return err
	})
}
