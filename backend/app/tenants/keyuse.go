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

// keyUses are the last uses of API keys that this process has seen and not written
// down yet.
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

// of returns when a secret was last used.
func (u *keyUses) of(tenant core.TenantAlias, k auth.APIKey) core.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	return max(k.Used, u.last[keyUse{tenant, k.Hash}])
}

// NoteUse notes that a secret of a tenant is used now.
func (ks *APIKeys) NoteUse(tenant core.TenantAlias, hash string) {
	ks.uses.note(keyUse{tenant, hash}, ks.Now())
}

// copied returns all uses.
func (u *keyUses) copied() map[keyUse]core.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	return maps.Clone(u.last)
}

// forget removes a use that was written down, unless there was another one since.
func (u *keyUses) forget(use keyUse, at core.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.last[use] == at {
		delete(u.last, use)
	}
}

// SaveUses writes down the last uses of API keys that this process has seen. It is
// called once in auth.KeyUseStep, and so bounds the writes.
func (ks *APIKeys) SaveUses(ctx context.Context) error {
	var failed error
	for use, at := range ks.uses.copied() {
		err := ks.DB.Write(ctx, at, func(tx *store.Tx) error { return tenantdb.RecordKeyUse(ctx, tx, use.tenant, use.hash) })
		if err == nil {
			ks.uses.forget(use, at)
		}
		failed = errors.Join(failed, err)
	}
	return failed
}
