package referrals

import (
	"context"

	"kith/backend/app/base"
	"kith/backend/store/programdb"
	"kith/core"
	"kith/core/link"
)

// Links are share links, and the cookies that remember where visitors came from.
type Links struct{ *base.Base }

// Follow answers a share link. The edge answers those that its replica
// knows; what it does not know it asks here. known is true when there is such a
// code.
func (ls *Links) Follow(ctx context.Context, alias core.TenantAlias, code string, v link.Visit) (a link.Answer, known bool, err error) {
	t, err := programdb.TargetOf(ctx, ls.DB.Reads, alias, linkCode(code))
	if err != nil {
		return link.Answer{}, false, err
	}
	return link.FollowShareLink(v, ls.linkTenant(t.Tenant, t.Policy), t.Program, t.Code, ls.Now()), t.Code != "", nil
}

// TakeCode answers a page request that carries a code, on a shop's host; ok is
// false when it is to be passed on, known true when there is such a code. At a host
// that no tenant has there is none.
func (ls *Links) TakeCode(ctx context.Context, host string, code core.ReferralCode, v link.Visit) (a link.Answer, known, ok bool, err error) {
	t, ok, err := programdb.TargetOnHost(ctx, ls.DB.Reads, host, linkCode(string(code)))
	if err != nil || !ok {
		return link.Answer{}, false, false, err
	}
	a, ok = link.TakeCode(v, ls.linkTenant(t.Tenant, t.Policy), t.Program, t.Code, ls.Now())
	return a, t.Code != "", ok, nil
}

// linkCode reads the code of a link. A text that has not the form of a code is no
// code: nobody has it.
func linkCode(text string) core.ReferralCode {
	code, err := core.ParseReferralCode("", text)
	if err != nil {
		return ""
	}
	return code
}

func (ls *Links) linkTenant(alias core.TenantAlias, policy link.Policy) link.Tenant {
	return link.Tenant{Alias: alias, Policy: policy, Cookies: ls.Keys.Cookie(alias)}
}

// RememberCookieUser returns the Set-Cookie value by which a browser is known
// again, or ""; see link.RememberCookieUser.
func (ls *Links) RememberCookieUser(c base.Caller, v link.Visit, id core.UserID) string {
	return link.RememberCookieUser(v, ls.linkTenant(c.Tenant.Alias, c.Tenant.Policy), ls.Keys.CookieUser(c.Tenant.Alias), id)
}
