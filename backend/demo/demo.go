// Package demo has the demo data and pages of `kith dev`: two tenants, each with a
// referrer and two programs, a shop, a story that fills the charts, and a widget.
package demo

import (
	"context"
	"errors"

	"kith/backend/app"
	"kith/backend/app/tenants"
	"kith/core"
	"kith/core/link"
	"kith/core/referral"
	"kith/core/rules"
)

// Tenants and keys of the demo. They are public: never use them elsewhere.
const (
	LiveTenant core.TenantAlias  = "demo"
	TestTenant core.TenantAlias  = "test_demo"
	LiveKey                      = "LIVE_DEMO_KEY_0123456789"
	TestKey                      = "TEST_DEMO_KEY_0123456789"
	Code       core.ReferralCode = "ANNA10"
	// ShopCode is the referrer's code in the program of the demo shop.
	ShopCode core.ReferralCode = "ANNA-COFFEE"
)

// Seed creates the demo tenants and the referrer of each, unless they exist. Their
// share links lead to the landing page on the edge. The edge has one base URL for each
// tenant, since the host of a page request decides its tenant.
func Seed(ctx context.Context, e *app.Engine, liveURL, testURL string) error {
	return seed(ctx, e, liveURL, testURL, LandingPath)
}

func seed(ctx context.Context, e *app.Engine, liveURL, testURL, landing string) error {
	for _, t := range []struct {
		alias core.TenantAlias
		key   string
		base  string
	}{{LiveTenant, LiveKey, liveURL}, {TestTenant, TestKey, testURL}} {
		err := e.Tenants.Create(ctx, tenants.NewTenant{
			Alias: t.alias, Key: t.key, Policy: link.Policy{Consent: link.ConsentOff},
			Program: referral.DefaultProgram(t.base + landing),
		})
		if is(err, core.CodeConflict) {
			// The edge may listen at another address than last time.
			_, err = e.Programs.Update(ctx, t.alias, core.ClassicProgram, func(p *referral.Program) error {
				p.LandingURL = t.base + landing
				return nil
			})
		}
		if err != nil {
			return err
		}
		// Also if the tenant exists: an earlier seed may have been interrupted.
		if err := referrer(ctx, e, t.alias); err != nil {
			return err
		}
	}
	return nil
}

func referrer(ctx context.Context, e *app.Engine, tenant core.TenantAlias) error {
	if _, err := e.Users.ByID(ctx, tenant, "anna", "anna"); !is(err, core.CodeNotFound) {
		return err
	}
	first, last, email := "Anna", "Ahrens", "anna@example.com"
	_, err := e.Identification.Identify(ctx, tenant, rules.Identification{Update: referral.UserUpdate{
		Account: "anna", ID: "anna", FirstName: &first, LastName: &last, Email: &email,
		Codes: []referral.UserCode{{Program: core.ClassicProgram, Code: Code}},
	}})
	return err
}

func is(err error, code core.Code) bool {
	known, ok := errors.AsType[*core.Error](err)
	return ok && known.Code == code
}
