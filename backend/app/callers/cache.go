package callers

import (
	"sync"

	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/auth"
	"kith/core/wire"
)

const (
	// cacheAge is how long a tenant stays in the cache after it was read.
	cacheAge = core.Second
	// maxCached is the number of tenants in the cache at most.
	maxCached = 1000
)

// tenantCache has tenants that were read within cacheAge. It serves to refuse requests,
// never to admit them, so that a revoked key or token is refused at once. A new key may
// be refused for cacheAge, but only to a network that has sent too many wrong keys and
// must wait for a minute anyway.
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

// WrongByCache reports whether the cache shows that credentials are wrong. It does not
// read the database: if the tenant is not in the cache, it returns false.
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
	// An internal error does not show that the token is wrong.
	secrets, err := cs.SigningSecrets(tenant)
	if err != nil || credentials.Token == "" {
		return false
	}
	_, err = wire.AllowsAnonymous(secrets, credentials.Token, cs.Now(), tenant.UndatedTokens)
	return err != nil
}
