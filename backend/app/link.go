package app

import (
	"context"

	"kith/backend/store"
	"kith/core"
	"kith/core/link"
	"kith/core/referral"
)

// FollowShareLink answers a share link. The edge answers those that its replica
// knows; what it does not know it asks here. known is true when there is such a
// code.
func (e *Engine) FollowShareLink(ctx context.Context, alias core.TenantAlias, code string, v link.Visit) (a link.Answer, known bool, err error) {
	tenant, err := e.DB.Tenant(ctx, alias)
	if err != nil {
		return link.Answer{}, false, err
	}
	found, program, err := e.linkTarget(ctx, alias, code)
	if err != nil {
		return link.Answer{}, false, err
	}
	return link.FollowShareLink(v, e.linkTenant(tenant), program.Program, found, e.Now()), found != "", nil
}

// TakeCode answers a page request that carries a code, on a shop's host; ok is
// false when it is to be passed on, known true when there is such a code. At a host
// that no tenant has there is none.
func (e *Engine) TakeCode(ctx context.Context, host string, code core.ReferralCode, v link.Visit) (a link.Answer, known, ok bool, err error) {
	alias, err := e.DB.TenantByHost(ctx, host)
	if isNotFound(err) {
		return link.Answer{}, false, false, nil
	}
	if err != nil {
		return link.Answer{}, false, false, err
	}
	tenant, err := e.DB.Tenant(ctx, alias)
	if err != nil {
		return link.Answer{}, false, false, err
	}
	found, program, err := e.linkTarget(ctx, alias, string(code))
	if err != nil {
		return link.Answer{}, false, false, err
	}
	a, ok = link.TakeCode(v, e.linkTenant(tenant), program.Program, found, e.Now())
	return a, found != "", ok, nil
}

// linkTarget finds a code and its program; a code that is not there, or has not
// the form of one, leads to the tenant's first program. The code of a blocked
// user leads where it always did, as no code.
func (e *Engine) linkTarget(ctx context.Context, tenant core.TenantAlias, text string) (core.ReferralCode, referral.Program, error) {
	if code, err := core.ParseReferralCode("", text); err == nil {
		c, known, err := e.DB.Code(ctx, tenant, code)
		if err != nil {
			return "", referral.Program{}, err
		}
		if known {
			program, err := e.DB.Program(ctx, tenant, c.Program)
			if c.Blocked {
				c.Code = ""
			}
			return c.Code, program, err
		}
	}
	program, err := e.DB.FirstProgram(ctx, tenant)
	return "", program, err
}

func (e *Engine) linkTenant(t store.Tenant) link.Tenant {
	return link.Tenant{Alias: t.Alias, Policy: t.Policy, Cookies: e.Keys.Cookie(t.Alias)}
}
