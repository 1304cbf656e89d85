package callers

import (
	"sync"

	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/auth"
	"kith/core/wire"
)

const (
	// cacheAge is for how long a tenant that was read says which credentials are
	// wrong.
	cacheAge = core.Second
	// maxCached bounds the tenants that are kept.
	maxCached = 1000
)

// tenantCache are tenants as they were read a moment ago. They serve to refuse, never to
// admit: a key or token that was revoked since is not taken for it. One that was added
// since is refused for cacheAge, and only in a network that has to wait a minute.
type tenantCache struct {
	mu      sync.Mutex
	tenants map[core.TenantAlias]cachedTenant
}

type cachedTenant struct {
	tenantdb.Tenant
	read core.Time
}

func (c *tenantCache) put(t tenantdb.Tenant, now core.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tenants == nil || len(c.tenants) >= maxCached {
		c.tenants = map[core.TenantAlias]cachedTenant{}
	}
	c.tenants[t.Alias] = cachedTenant{t, now}
}

func (c *tenantCache) find(alias core.TenantAlias, now core.Time) (tenantdb.Tenant, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, ok := c.tenants[alias]
	return t.Tenant, ok && now >= t.read && now < t.read+cacheAge
}

// WrongByCache reports whether credentials are wrong by what was read of the tenant a
// moment ago. It is false when nothing was: it does not ask the database.
func (cs *Callers) WrongByCache(alias core.TenantAlias, authorization, userToken string) bool {
	credentials, err := auth.ParseCredentials(authorization, userToken)
	if err != nil {
		return true
	}
	tenant, ok := cs.cache.find(alias, cs.Now())
	if !ok {
		return false
	}
	if credentials.Key != "" {
		_, ok = tenant.Keys.Match(credentials.Key, cs.Now())
		return !ok
	}
	// A fault of ours proves nothing against a token.
	secrets, err := cs.SigningSecrets(tenant)
	if err != nil || credentials.Token == "" {
		return false
	}
	_, err = wire.AllowsAnonymous(secrets, credentials.Token, cs.Now(), tenant.UndatedTokens)
	return err != nil
}
