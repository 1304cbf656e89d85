package referrals

import (
	"context"

	"kith/backend/app/base"
	"kith/backend/store/programdb"
	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/link"
	"kith/core/wire"
)

// ReferralCookie returns the codes of the share links that a visitor followed; see
// wire.VisitorCodes. firstParty is the value of the shop's first-party cookie. Cookies that
// do not count, by the tenant's policy and the visitor's choice, are not read. It also
// returns the policy.
func (ls *Links) ReferralCookie(ctx context.Context, tenant core.TenantAlias, firstParty string, v link.Visit) ([]wire.CookieCode, link.Policy, error) {
	t, err := tenantdb.Find(ctx, ls.DB.Reads, tenant)
	if err != nil {
		return nil, link.Policy{}, err
	}
	header := v.Cookie
	if !t.Policy.Counts(v, link.InBrowser) {
		header = ""
	}
	if !t.Policy.Counts(v, link.InScript) {
		firstParty = ""
	}
	own, err := ls.ownCookie(ctx, tenant, header)
	return wire.VisitorCodes(tenant, own, firstParty, link.FindSquatchCookie(header), ls.Now()), t.Policy, err
}

// Consent returns a tenant's policy for cookies. It is public.
func (ls *Links) Consent(ctx context.Context, tenant core.TenantAlias) (link.Policy, error) {
	t, err := tenantdb.Find(ctx, ls.DB.Reads, tenant)
	return t.Policy, err
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
