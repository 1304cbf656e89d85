package admin

import (
	"context"

	"kith/backend/app/base"
	"kith/backend/app/programs"
	"kith/backend/app/tenants"
	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/auth"
	"kith/core/operation"
	"kith/core/origin"
	"kith/core/people"
	"kith/core/referral"
)

// Website has the settings of a tenant for the pages of its shop.
type Website struct {
	Base     *base.Base
	Tenants  *tenants.Tenants
	Origins  *tenants.Origins
	Programs *programs.Programs
}

// WebsiteSettings are the settings of a tenant's website, and its programs, whose landing
// pages are allowed too.
type WebsiteSettings struct {
	tenants.Website
	Programs []referral.Program
}

// Read returns the settings.
func (w *Website) Read(ctx context.Context, c people.Caller) (s WebsiteSettings, err error) {
	if err := operation.ReadIntegrations.Require(c); err != nil {
		return s, err
	}
	if s.Website, err = w.Tenants.Website(ctx, c.Tenant); err == nil {
		s.Programs, err = w.Programs.List(ctx, c.Tenant)
	}
	return s, err
}

// AddOrigins allows the pages of origins, all or none; see tenants.Origins.Add.
func (w *Website) AddOrigins(ctx context.Context, c people.Caller, origins ...origin.Origin) error {
	changes := make([]base.Change, len(origins))
	for i, o := range origins {
		changes[i] = base.Change{Operation: operation.AddOrigin, Subject: string(o)}
	}
	return w.Base.ActAll(ctx, c, operation.AddOrigin, changes, func(ctx context.Context) error {
		return w.Origins.Add(ctx, c.Tenant, origins...)
	})
}

// RemoveOrigin removes an origin that was added; see tenants.Origins.Remove.
func (w *Website) RemoveOrigin(ctx context.Context, c people.Caller, o origin.Origin) error {
	return w.Base.Act(ctx, c, base.Change{Operation: operation.RemoveOrigin, Subject: string(o)}, func(ctx context.Context, _ *base.Change) error {
		return w.Origins.Remove(ctx, c.Tenant, o)
	})
}

// Change changes settings; see tenants.Tenants.ChangeWebsite.
func (w *Website) Change(ctx context.Context, c people.Caller, change tenants.WebsiteChange) (changed tenants.Website, err error) {
	return base.ActValue(ctx, w.Base, c, base.Change{Operation: operation.ChangeWebsite}, func(ctx context.Context, entry *base.Change) (tenants.Website, error) {
		before, err := w.Tenants.Website(ctx, c.Tenant)
		if err != nil {
			return changed, err
		}
		after, err := change.Apply(before.Tenant)
		if err != nil {
			return changed, err
		}
		was, is := auditedWebsite(before.Tenant), auditedWebsite(after)
		if change.Origins != nil {
			was["origins"], is["origins"] = before.Origins, *change.Origins
		}
		entry.Before, entry.After = was, is
		return w.Tenants.ChangeWebsite(ctx, c.Tenant, change)
	})
}

// ChangeTenant changes settings of the tenant that the portal does not show; see
// tenants.Tenants.Change.
func (w *Website) ChangeTenant(ctx context.Context, c people.Caller, change tenants.TenantChange) (changed tenantdb.Tenant, err error) {
	return base.ActValue(ctx, w.Base, c, base.Change{Operation: operation.ChangeTenant}, func(ctx context.Context, entry *base.Change) (tenantdb.Tenant, error) {
		before, err := w.Tenants.ByAlias(ctx, c.Tenant)
		if err != nil {
			return changed, err
		}
		after, err := change.Apply(before)
		if err != nil {
			return changed, err
		}
		entry.Before, entry.After = auditedTenant(before), auditedTenant(after)
		return w.Tenants.Change(ctx, c.Tenant, change)
	})
}

// auditedTenant has the settings of a tenant in the audit log.
func auditedTenant(t tenantdb.Tenant) map[string]any {
	all := auditedWebsite(t)
	all["discountId"], all["browserPayment"], all["exportDates"] = t.DiscountID, t.BrowserPayment, t.ExportDates
	all["timeZone"] = t.TimeZone
	all["initChecksum"], all["undatedTokens"], all["apiKeyTokens"] = t.InitChecksum, t.UndatedTokens, t.APIKeyTokens
	all["linkMaxAge"], all["codeNames"] = core.FormatDuration(t.LinkMaxAge), t.CodeNames
	all["secondStep"] = t.SecondStep
	all["rememberDeleted"] = core.FormatDuration(t.RememberDeleted)
	return all
}

// auditedWebsite has the settings of a tenant's website in the audit log.
func auditedWebsite(t tenantdb.Tenant) map[string]any {
	all := map[string]any{"consent": string(t.Policy.Consent), "consentCookie": t.Policy.ConsentCookie, "shareOrigin": t.ShareOrigin}
	for _, e := range auth.Endpoints() {
		all["secureMode."+e.String()] = t.SecureMode[e].String()
	}
	return all
}
