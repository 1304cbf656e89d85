package demo

import (
	"context"

	"kith/backend/app"
	"kith/backend/app/base"
	"kith/backend/demo/shop"
	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/conversion"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/rules"
	"kith/core/widget"
	"kith/core/wire"
)

// ShopProgram is the key of the program of the demo shop.
const ShopProgram core.ProgramKey = shop.Program

// opened is how long before its first start the demo shop opened. Its program is that
// old: an event counts by the terms of its own time, and the story has 90 days of them.
const opened = 100 * core.Day

// SeedShop is Seed for a server with the demo shop, to which all share links lead. It
// creates the program of the shop in both tenants, and gives their referrer a code in it.
func SeedShop(ctx context.Context, e *app.Engine, liveURL, testURL string) error {
	if err := seed(ctx, e, liveURL, testURL, shop.Path); err != nil {
		return err
	}
	for tenant, url := range map[core.TenantAlias]string{LiveTenant: liveURL, TestTenant: testURL} {
		landing := url + shop.Path
		_, err := earlier(e, e.Now()-opened).Programs.Create(ctx, tenant, roastery(landing))
		if err == nil {
			values := widgetValues
			_, err = e.Widgets.Put(ctx, tenant, widget.Type{Program: ShopProgram, Key: widget.Referrer}, wire.WidgetUpdate{Values: &values})
		} else if is(err, core.CodeConflict) {
			// The edge may listen at another address than last time.
			_, err = e.Programs.Update(ctx, tenant, ShopProgram, func(p *referral.Program) error {
				p.LandingURL = landing
				return nil
			})
		}
		if err != nil {
			return err
		}
		found, err := tenantdb.Find(ctx, e.DB.Reads, tenant)
		if err != nil {
			return err
		}
		if _, err = e.Codes.Lookup(ctx, found, ShopCode); is(err, core.CodeNotFound) {
			_, err = e.Identification.Identify(ctx, tenant, rules.Identification{Update: referral.UserUpdate{
				Account: "anna", ID: "anna", Codes: []referral.UserCode{{Program: ShopProgram, Code: ShopCode}},
			}})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// widgetValues give the widget the colors of the shop.
const widgetValues = `{"theme":"auto","variables":{"--kith-accent":"#1f5c45","--kith-radius":"10px","--kith-field":"#f5f0e8","--kith-border":"#e6dfd4"},
"darkVariables":{"--kith-accent":"#7fd0ab","--kith-background":"#211e1b","--kith-field":"#2a2622","--kith-border":"#38332e"}}`

// roastery returns the program of the demo shop: an order converts, the friend gets 10 %
// off, and the referrer 10 % of the first order once it can no longer be returned.
func roastery(landing string) referral.Program {
	p := referral.NewProgram(ShopProgram)
	p.LandingURL, p.Name = landing, "Morrow Coffee"
	p.Conversion = conversion.Rule{Event: "purchase", Before: conversion.DefaultBefore}
	p.Referred = reward.Offer{Kind: reward.PercentDiscount, Percent: 1000}
	p.Referrer = reward.Offer{Kind: reward.Credit, OfRevenue: 1000, Currency: referral.DefaultCurrency, GivenAfter: 30 * core.Day}
	p.ReferredTerms.Orders, p.ReferrerTerms.Orders = 1, 1
	p.Fraud.BySignal = map[referral.Signal]referral.Handling{referral.SignalTempEmail: referral.HandlePending}
	p.SetDefaults()
	return p
}

// earlier returns the use cases on the database of e with a clock that shows a time of
// the past: what they store was done then.
func earlier(e *app.Engine, now core.Time) *app.Engine {
	return app.New(base.Base{
		DB: e.DB, Keys: e.Keys, TempDomains: e.TempDomains, PublicURL: e.PublicURL, Entropy: e.Entropy,
		Now: func() core.Time { return now },
	})
}
