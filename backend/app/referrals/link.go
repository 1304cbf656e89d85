package referrals

import (
	"context"

	"kith/backend/app/base"
	"kith/backend/store/programdb"
	"kith/core"
	"kith/core/auth"
	"kith/core/link"
)

// Links answers requests for share links, and reads and writes the attribution cookies.
type Links struct{ *base.Base }

// Follow answers a request for a share link of the tenant alias. The edge answers for the
// codes that it finds in its replica, and calls Follow for the others. The code of the target is
// empty if there is no such code, which leads to the landing page too.
func (ls *Links) Follow(ctx context.Context, alias core.TenantAlias, code string, v link.Visit) (a link.Answer, t programdb.Target, err error) {
	if t, err = programdb.TargetOf(ctx, ls.DB.Reads, alias, linkCode(code)); err != nil {
		return a, t, err
	}
	return link.FollowShareLink(v, ls.linkTenant(t.Target), t.Program, t.Code, ls.Now()), t, nil
}

// TakeCode answers a page request on a shop's host whose URL has a code. The code of the target
// is empty if there is no such code. ok is false if the request must pass to the shop without an
// answer, which is always so on a host that belongs to no tenant.
func (ls *Links) TakeCode(ctx context.Context, host string, code core.ReferralCode, v link.Visit) (a link.Answer, t programdb.Target, ok bool, err error) {
	t, ok, err = programdb.TargetOnHost(ctx, ls.DB.Reads, host, linkCode(string(code)))
	if err != nil || !ok {
		return a, t, false, err
	}
	a, ok = link.TakeCode(v, ls.linkTenant(t.Target), t.Program, t.Code, ls.Now())
	return a, t, ok, nil
}

// linkCode parses the code of a link. It returns an empty code, which no user owns, for
// a text that does not have the form of a code.
func linkCode(text string) core.ReferralCode {
	code, err := core.ParseReferralCode("", text)
	if err != nil {
		return ""
	}
	return code
}

func (ls *Links) linkTenant(t link.Target) link.Tenant {
	return link.Tenant{
		Alias: t.Tenant, Policy: t.Policy, SquatchParameter: t.SquatchParameter,
		Cookies: func() auth.Signer { return ls.Keys.Cookie(t.Tenant) },
	}
}

// RememberCookieUser returns the Set-Cookie value that stores the user id in the
// browser, or ""; see link.RememberCookieUser.
func (ls *Links) RememberCookieUser(c base.Caller, v link.Visit, id core.UserID) string {
	return link.RememberCookieUser(v, ls.linkTenant(link.Target{Tenant: c.Tenant.Alias, Policy: c.Tenant.Policy}), ls.Keys.CookieUser(c.Tenant.Alias), id)
}
