package referrals

import (
	"context"
	"maps"
	"slices"
	"strings"

	"kith/backend/app/base"
	"kith/backend/store/programdb"
	"kith/backend/store/tenantdb"
	"kith/backend/store/userdb"
	"kith/core"
	"kith/core/link"
	"kith/core/wire"
)

// VisitorCodes returns the codes in a visitor's cookies, which may not exist; see
// wire.VisitorCodes. firstParty is the value of the shop's first-party cookie. Cookies that
// do not count, by the tenant's policy and the visitor's choice, are not read. It also
// returns the tenant.
func (ls *Links) VisitorCodes(ctx context.Context, tenant core.TenantAlias, firstParty string, v link.Visit) ([]wire.CookieCode, tenantdb.Tenant, error) {
	t, err := tenantdb.Find(ctx, ls.DB.Reads, tenant)
	if err != nil {
		return nil, t, err
	}
	header := v.Cookie
	if !t.Policy.Counts(v, link.InBrowser) {
		header = ""
	}
	if !t.Policy.Counts(v, link.InScript) {
		firstParty = ""
	}
	own, err := ls.ownCookie(ctx, tenant, header)
	return wire.VisitorCodes(tenant, own, firstParty, link.FindSquatchCookie(header), ls.Now()), t, err
}

// KnownCodes returns of a visitor's codes the first of each program that exists and
// whose owner is not blocked. unknown is how many different codes are not such.
func (ls *Links) KnownCodes(ctx context.Context, tenant core.TenantAlias, all []wire.CookieCode) (first []wire.CookieCode, unknown int, err error) {
	asked := map[core.ReferralCode]bool{}
	for _, c := range all {
		asked[core.ReferralCode(strings.ToUpper(string(c.Code)))] = true
	}
	existing, err := userdb.CodesThatRefer(ctx, ls.DB.Reads, tenant, slices.Collect(maps.Keys(asked)))
	return wire.FirstCodes(all, existing), len(asked) - len(existing), err
}

// Consent returns a tenant's policy for cookies, and the shortest time for which one of its
// programs counts a visit. It is public.
func (ls *Links) Consent(ctx context.Context, tenant core.TenantAlias) (link.Policy, core.Time, error) {
	t, err := tenantdb.Find(ctx, ls.DB.Reads, tenant)
	if err != nil {
		return link.Policy{}, 0, err
	}
	life, err := programdb.ShortestCookieLife(ctx, ls.DB.Reads, tenant)
	return t.Policy, life, err
}

// ownCookie returns the attribution in Kith's own cookie. It is nil if the cookie is
// missing, malformed or forged, if its program was deleted, or if the cookie is older
// than the cookie life of the program.
func (ls *Links) ownCookie(ctx context.Context, tenant core.TenantAlias, header string) (*link.Attribution, error) {
	visit, err := link.ParseAttribution(ls.Keys.Cookie(tenant), link.FindCookie(tenant, header))
	if err != nil {
		return nil, nil
	}
	program, err := programdb.ByKey(ctx, ls.DB.Reads, tenant, visit.Program)
	if base.IsNotFound(err) || err == nil && visit.Fresh(program.CookieLife, ls.Now()) != nil {
		return nil, nil
	}
	return &visit, err
}
