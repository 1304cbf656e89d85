package app

import (
	"context"

	"kith/backend/app/base"
	"kith/core"
	"kith/core/link"
	"kith/core/wire"
)

// ReferralCookie returns the codes that a visitor came with; see
// wire.VisitorCodes. firstParty is the text of the first-party cookie, header the
// Cookie header.
func (e *Engine) ReferralCookie(ctx context.Context, tenant core.TenantAlias, firstParty, header string) ([]wire.CookieCode, error) {
	if _, err := e.DB.Tenant(ctx, tenant); err != nil {
		return nil, err
	}
	own, err := e.ownCookie(ctx, tenant, header)
	return wire.VisitorCodes(tenant, own, firstParty, link.FindSquatchCookie(header), e.Now()), err
}

// Consent returns a tenant's policy for cookies, which anybody may know.
func (e *Engine) Consent(ctx context.Context, tenant core.TenantAlias) (link.Policy, error) {
	t, err := e.DB.Tenant(ctx, tenant)
	return t.Policy, err
}

// ownCookie is what Kith's own cookie remembers, while its program does.
func (e *Engine) ownCookie(ctx context.Context, tenant core.TenantAlias, header string) (*link.Attribution, error) {
	visit, err := link.ParseAttribution(e.Keys.Cookie(tenant), link.FindCookie(tenant, header))
	if err != nil {
		return nil, nil
	}
	program, err := e.DB.Program(ctx, tenant, visit.Program)
	if base.IsNotFound(err) || err == nil && visit.Fresh(program.CookieLife, e.Now()) != nil {
		return nil, nil
	}
	return &visit, err
}
