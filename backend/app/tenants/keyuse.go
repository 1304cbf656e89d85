package tenants

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"

	"kith/backend/store"
	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/auth"
	"kith/core/link"
)

// keyUses has the last uses of API keys in this process that are not yet stored.
type keyUses struct {
	mu   sync.Mutex
	last map[keyUse]core.Time
	// undated is the number of calls of each tenant that were refused for a token without exp.
	undated map[core.TenantAlias]int
	// older are the tenants that a browser script of the older API called.
	older map[core.TenantAlias]bool
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

// NoteUndated counts in memory a call that was refused because its user token had no exp; see
// SaveUses.
func (ks *APIKeys) NoteUndated(tenant core.TenantAlias) { ks.uses.addUndated(tenant, 1) }

func (u *keyUses) addUndated(tenant core.TenantAlias, times int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.undated == nil {
		u.undated = map[core.TenantAlias]int{}
	}
	u.undated[tenant] += times
}

// NoteOlderScript records in memory that a browser script of the older API called a tenant, if
// that turns a setting of the tenant on (link.SquatchAuto); see SaveUses.
func (ks *APIKeys) NoteOlderScript(tenant tenantdb.Tenant) {
	if tenant.SquatchParameter == link.SquatchAuto {
		ks.uses.noteOlder(tenant.Alias)
	}
}

func (u *keyUses) noteOlder(tenant core.TenantAlias) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.older == nil {
		u.older = map[core.TenantAlias]bool{}
	}
	u.older[tenant] = true
}

// take returns what NoteUndated and NoteOlderScript recorded, and forgets it.
func (u *keyUses) take() (undated map[core.TenantAlias]int, older map[core.TenantAlias]bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	undated, older = u.undated, u.older
	u.undated, u.older = nil, nil
	return undated, older
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

// SaveUses stores the last uses of API keys that NoteUse recorded, and what NoteUndated and
// NoteOlderScript did, which it logs. To bound the number of writes, it is called once in
// auth.KeyUseStep.
func (ks *APIKeys) SaveUses(ctx context.Context) error {
	var failed error
	undated, older := ks.uses.take()
	for tenant := range older {
		slog.Info("a browser script of the older API called: share links get the parameter _saasquatch from now on", "tenant", tenant)
		err := ks.DB.Write(ctx, ks.Now(), func(tx *store.Tx) error { return tenantdb.TurnOnSquatchParameter(ctx, tx, tenant) })
		if err != nil {
			ks.uses.noteOlder(tenant) // for the next call
		}
		failed = errors.Join(failed, err)
	}
	for tenant, times := range undated {
		slog.Warn("calls refused: their user tokens have no exp; add it, or accept such tokens: kith tenant set --undated-tokens on", "tenant", tenant, "times", times)
		err := ks.DB.Write(ctx, ks.Now(), func(tx *store.Tx) error { return tenantdb.RecordUndated(ctx, tx, tenant, times) })
		if err != nil {
			ks.uses.addUndated(tenant, times)
		}
		failed = errors.Join(failed, err)
	}
	for use, at := range ks.uses.all() {
		err := ks.DB.Write(ctx, at, func(tx *store.Tx) error { return tenantdb.RecordKeyUse(ctx, tx, use.tenant, use.hash) })
		if err == nil {
			ks.uses.forget(use, at)
		}
		failed = errors.Join(failed, err)
	}
	return failed
}
