// Package app holds the use cases: what one call to the service does, from
// a parsed request to a stored result. It asks core to decide and store to
// remember, and knows neither HTTP nor SQL.
package app

import (
	"kith/backend/app/base"
	"kith/backend/app/callers"
	"kith/backend/app/events"
	"kith/backend/app/jobs"
	"kith/backend/app/payments"
	"kith/backend/app/programs"
	"kith/backend/app/referrals"
	"kith/backend/app/rewards"
	"kith/backend/app/statistics"
	"kith/backend/app/tenants"
	"kith/backend/app/users"
	"kith/backend/app/webhooks"
	"kith/backend/app/widgets"
)

// Engine runs the use cases. Make one by New; it is safe for concurrent use.
type Engine struct {
	*base.Base
	Identification users.Identification
	Users          users.Users
	Accounts       users.Accounts
	Erasures       users.Erasures

	Programs programs.Programs

	Tenants   tenants.Tenants
	APIKeys   *tenants.APIKeys
	MasterKey tenants.MasterKey
	SFTPKeys  tenants.SFTPKeys
	Origins   tenants.Origins

	Callers *callers.Callers

	Referrals referrals.Referrals
	Codes     referrals.Codes
	Links     referrals.Links

	Widgets widgets.Widgets

	Events *events.Events

	Analytics *statistics.Analytics

	Webhooks    webhooks.Subscriptions
	Deliveries  webhooks.Deliveries
	SigningKeys webhooks.SigningKeys
	Rewards     rewards.Rewards
	Redemptions rewards.Redemptions
	FuelTanks   rewards.FuelTanks
	Moderation  rewards.Moderation

	Jobs  *jobs.Jobs
	Files *jobs.Files

	Gateways      *payments.Gateways
	Notifications payments.Notifications
	Billing       payments.Billing
	Sweeps        payments.Sweeps
	Coupons       payments.Coupons
	Discounts     *payments.Discounts
}

// New returns an engine whose calls wake nobody.
func New(shared base.Base) *Engine {
	e := &Engine{Base: &shared}
	e.Identification.Base, e.Accounts.Base, e.Erasures.Base = e.Base, e.Base, e.Base
	e.Users = users.Users{Base: e.Base, Accounts: &e.Accounts}
	e.Programs = programs.Programs{Base: e.Base, FuelTanks: &e.FuelTanks}
	e.APIKeys = &tenants.APIKeys{Base: e.Base}
	e.Tenants = tenants.Tenants{Base: e.Base, APIKeys: e.APIKeys}
	e.MasterKey.Base, e.SFTPKeys.Base, e.Origins.Base = e.Base, e.Base, e.Base
	e.Webhooks.Base, e.Deliveries.Base, e.SigningKeys.Base = e.Base, e.Base, e.Base
	e.Rewards.Base, e.Redemptions.Base, e.FuelTanks.Base, e.Moderation.Base = e.Base, e.Base, e.Base, e.Base

	e.Gateways = &payments.Gateways{Base: e.Base}
	e.Discounts = &payments.Discounts{Base: e.Base, Gateways: e.Gateways}
	e.Notifications = payments.Notifications{Base: e.Base, Gateways: e.Gateways}
	e.Sweeps = payments.Sweeps{Base: e.Base, Gateways: e.Gateways}
	e.Coupons = payments.Coupons{Base: e.Base, Gateways: e.Gateways}
	e.Billing = payments.Billing{Base: e.Base, Gateways: e.Gateways, Discounts: e.Discounts, Redemptions: &e.Redemptions}

	e.Events = &events.Events{Base: e.Base, Wake: func() {}}
	e.Files = &jobs.Files{Base: e.Base}
	e.Jobs = &jobs.Jobs{
		Base: e.Base, Files: e.Files, Erasures: &e.Erasures, Redemptions: &e.Redemptions,
		Wake: func() {}, Logged: func() { e.Events.Wake() },
	}
	e.Callers = &callers.Callers{Base: e.Base, APIKeys: e.APIKeys}
	e.Referrals.Base, e.Codes.Base, e.Links.Base = e.Base, e.Base, e.Base
	e.Widgets = widgets.Widgets{Base: e.Base, Users: &e.Users, Rewards: &e.Rewards}
	e.Analytics = &statistics.Analytics{Base: e.Base}
	return e
}
