package callers

import (
	"sync"

	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/auth"
	"kith/core/wire"
)

const (
	// latelyAge is for how long a tenant that was read says which credentials are
	// wrong.
	latelyAge = core.Second
	// maxLately bounds the tenants that are kept.
	maxLately = 1000
)

// latelyRead are tenants as they were read a moment ago. They serve to refuse, never to
// admit: a key or token that was revoked since is not taken for it. One that was added
// since is refused for latelyAge, and only in a network that has to wait a minute.
type latelyRead struct {
	mu      sync.Mutex
	tenants map[core.TenantAlias]tenantAt
}

type tenantAt struct {
	tenantdb.Tenant
	at core.Time
}

func (l *latelyRead) keep(t tenantdb.Tenant, now core.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tenants == nil || len(l.tenants) >= maxLately {
		l.tenants = map[core.TenantAlias]tenantAt{}
	}
	l.tenants[t.Alias] = tenantAt{t, now}
}

func (l *latelyRead) find(alias core.TenantAlias, now core.Time) (tenantdb.Tenant, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t, ok := l.tenants[alias]
	return t.Tenant, ok && now >= t.at && now < t.at+latelyAge
}

// WrongLately reports whether credentials are wrong by what was read of the tenant a
// moment ago. It is false when nothing was: it does not ask the database.
func (cs *Callers) WrongLately(alias core.TenantAlias, authorization, userToken string) bool {
	credentials, err := auth.ParseCredentials(authorization, userToken)
	if err != nil {
		return true
	}
	tenant, ok := cs.lately.find(alias, cs.Now())
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
