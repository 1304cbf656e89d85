package tenants

import (
	"context"
	"errors"
	"maps"
	"sync"

	"kith/backend/store"
	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/auth"
)

// keyUses has the last uses of API keys in this process that are not yet stored.
type keyUses struct {
	mu   sync.Mutex
	last map[keyUse]core.Time
}

// keyUse names a secret of a tenant.
type keyUse struct {
	tenant core.TenantAlias
	hash   string
}

func (u *keyUses) note(use keyUse, at core.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.last == nil {
		u.last = map[keyUse]core.Time{}
	}
	u.last[use] = max(at, u.last[use])
}

// lastUse returns the time at which a secret was last used.
func (u *keyUses) lastUse(tenant core.TenantAlias, k auth.APIKey) core.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	return max(k.Used, u.last[keyUse{tenant, k.Hash}])
}

// NoteUse records in memory that a secret of a tenant was used now; see SaveUses. hash
// is the Hash of the key.
func (ks *APIKeys) NoteUse(tenant core.TenantAlias, hash string) {
	ks.uses.note(keyUse{tenant, hash}, ks.Now())
}

// all returns a copy of all uses.
func (u *keyUses) all() map[keyUse]core.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	return maps.Clone(u.last)
}

// forget removes a use that was stored, unless the secret was used again since.
func (u *keyUses) forget(use keyUse, at core.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.last[use] == at {
		delete(u.last, use)
	}
}

// SaveUses stores the last uses of API keys that NoteUse recorded. To bound the number
// of writes, it is called once in auth.KeyUseStep.
func (ks *APIKeys) SaveUses(ctx context.Context) error {
	var failed error
	for use, at := range ks.uses.all() {
		err := ks.DB.Write(ctx, at, func(tx *store.Tx) error { return tenantdb.RecordKeyUse(ctx, tx, use.tenant, use.hash) })
		if err == nil {
			ks.uses.forget(use, at)
		}
		failed = errors.Join(failed, err)
	}
	return failed
}
