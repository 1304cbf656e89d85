package admin

import (
	"context"

	"kith/backend/app/base"
	"kith/backend/app/programs"
	"kith/backend/app/tenants"
	"kith/backend/store/tenantdb"
	"kith/core/auth"
	"kith/core/origin"
	"kith/core/people"
	"kith/core/referral"
)

// Website has the settings of a tenant for the pages of its shop.
type Website struct {
	base     *base.Base
	tenants  *tenants.Tenants
	origins  *tenants.Origins
	programs *programs.Programs
}

// WebsiteSettings are the settings of a tenant's website, and its programs, whose landing
// pages are allowed too.
type WebsiteSettings struct {
	tenants.Website
	Programs []referral.Program
}

// Read returns the settings.
func (w *Website) Read(ctx context.Context, c people.Caller) (s WebsiteSettings, err error) {
	if err := c.Require(people.ReadIntegrations); err != nil {
		return s, err
	}
	if s.Website, err = w.tenants.Website(ctx, c.Tenant); err == nil {
		s.Programs, err = w.programs.List(ctx, c.Tenant)
	}
	return s, err
}

// AddOrigin allows the pages of an origin; see tenants.Origins.Add.
func (w *Website) AddOrigin(ctx context.Context, c people.Caller, o origin.Origin) error {
	return w.base.Act(ctx, c, people.WriteIntegrations, base.Change{Action: people.OriginAdded, Subject: string(o)}, func(ctx context.Context, _ *base.Change) error {
		return w.origins.Add(ctx, c.Tenant, o)
	})
}

// RemoveOrigin removes an origin that was added; see tenants.Origins.Remove.
func (w *Website) RemoveOrigin(ctx context.Context, c people.Caller, o origin.Origin) error {
	return w.base.Act(ctx, c, people.WriteIntegrations, base.Change{Action: people.OriginRemoved, Subject: string(o)}, func(ctx context.Context, _ *base.Change) error {
		return w.origins.Remove(ctx, c.Tenant, o)
	})
}

// Change changes settings; see tenants.Tenants.ChangeWebsite.
func (w *Website) Change(ctx context.Context, c people.Caller, change tenants.WebsiteChange) error {
	return w.base.Act(ctx, c, people.WriteIntegrations, base.Change{Action: people.WebsiteChanged}, func(ctx context.Context, entry *base.Change) error {
		before, err := w.tenants.Website(ctx, c.Tenant)
		if err != nil {
			return err
		}
		after, err := change.Apply(before.Tenant)
		if err != nil {
			return err
		}
		entry.Before, entry.After = auditedWebsite(before.Tenant), auditedWebsite(after)
		_, err = w.tenants.ChangeWebsite(ctx, c.Tenant, change)
		return err
	})
}

// auditedWebsite has the settings of a tenant's website in the audit log.
func auditedWebsite(t tenantdb.Tenant) any {
	all := map[string]string{"consent": string(t.Policy.Consent), "consentCookie": t.Policy.ConsentCookie, "shareOrigin": t.ShareOrigin}
	for _, e := range auth.Endpoints() {
		all["secureMode."+e.String()] = t.SecureMode[e].String()
	}
	return all
}
