// Package app has the use cases: what one call to the service does, from a parsed
// request to a stored result. Package core decides, and package store keeps the
// result. The use cases use neither HTTP nor SQL.
package app

import (
	"kith/backend/app/admin"
	"kith/backend/app/base"
	"kith/backend/app/callers"
	"kith/backend/app/events"
	"kith/backend/app/health"
	"kith/backend/app/jobs"
	"kith/backend/app/leases"
	"kith/backend/app/members"
	"kith/backend/app/orders"
	"kith/backend/app/payments"
	"kith/backend/app/pipelines"
	"kith/backend/app/programs"
	"kith/backend/app/referrals"
	"kith/backend/app/rewards"
	"kith/backend/app/statistics"
	"kith/backend/app/tenants"
	"kith/backend/app/users"
	"kith/backend/app/webhooks"
	"kith/backend/app/widgets"
	"kith/core/people"
)

// Engine runs the use cases: each field has those of one subject. New makes an Engine.
// It is safe for concurrent use once its fields are set.
type Engine struct {
	*base.Base

	// Health checks whether this process can serve.
	Health *health.Health

	// Callers, and the tenants that they call.
	Callers   callers.Callers
	Tenants   tenants.Tenants
	APIKeys   tenants.APIKeys
	SFTPKeys  tenants.SFTPKeys
	Origins   tenants.Origins
	MasterKey tenants.MasterKey

	// The people who work in the portal.
	SignIns  members.SignIns
	Profiles members.Profiles
	Members  members.Members
	Resets   members.Resets
	Audits   members.Audits

	// Admin has what members of a tenant do with it.
	Admin admin.Admin

	// Users, and their referrals.
	Identification users.Identification
	Users          users.Users
	Accounts       users.Accounts
	Erasures       users.Erasures
	Codes          referrals.Codes
	Links          referrals.Links
	Referrals      referrals.Referrals
	Events         events.Events
	Orders         orders.Orders
	Pipelines      pipelines.Pipelines
	Analytics      statistics.Analytics

	// What users earn by referrals.
	Programs    programs.Programs
	Rewards     rewards.Rewards
	Redemptions rewards.Redemptions
	FuelTanks   rewards.FuelTanks
	Moderation  rewards.Moderation
	Widgets     widgets.Widgets

	// What background workers do.
	Leases        leases.Leases
	Jobs          jobs.Jobs
	Files         jobs.Files
	Webhooks      webhooks.Subscriptions
	Deliveries    webhooks.Deliveries
	SigningKeys   webhooks.SigningKeys
	Gateways      payments.Gateways
	Notifications payments.Notifications
	Billing       payments.Billing
	Sweeps        payments.Sweeps
	Discounts     payments.Discounts
	Operations    payments.Operations
	Payments      payments.Payments
	Promotions    payments.Promotions
}

// New returns an engine on shared. Its Wake fields do nothing: set them to wake
// workers at once, or else workers find new work at their next tick.
func New(shared base.Base) *Engine {
	b := &shared
	b.Process = b.NewID()
	asleep := func() {}
	e := &Engine{Base: b, Health: health.New(b)}
	logged := func() { e.Events.Wake() }

	e.APIKeys.Base, e.SFTPKeys.Base, e.Origins.Base, e.MasterKey.Base = b, b, b, b
	e.Tenants = tenants.Tenants{Base: b, APIKeys: &e.APIKeys}
	e.Callers.Base, e.Callers.APIKeys = b, &e.APIKeys

	e.SignIns = members.SignIns{Base: b, Passwords: members.NewPasswords(b.Entropy), Limits: members.NewLimits(b.Now), Sessions: people.DefaultSessionLimits()}
	e.Profiles = members.Profiles{Base: b, SignIns: &e.SignIns}
	e.Members = members.Members{Base: b, SignIns: &e.SignIns}
	e.Resets = members.Resets{Base: b, SignIns: &e.SignIns}
	e.Audits.Base = b

	e.Identification.Base, e.Users.Base, e.Accounts.Base, e.Erasures.Base = b, b, b, b
	e.Codes.Base, e.Links.Base, e.Referrals.Base = b, b, b
	e.Events = events.Events{Base: b, Wake: asleep}
	e.Orders.Base = b
	e.Analytics = statistics.New(b)
	e.Pipelines = pipelines.Pipelines{Base: b, Wake: logged}

	e.Rewards.Base, e.Redemptions.Base, e.FuelTanks.Base, e.Moderation.Base = b, b, b, b
	e.Programs = programs.Programs{Base: b, FuelTanks: &e.FuelTanks}
	e.Widgets = widgets.Widgets{Base: b, Users: &e.Users}

	e.Files.Base, e.Leases.Base = b, b
	e.Jobs = jobs.Jobs{Base: b, Files: &e.Files, Erasures: &e.Erasures, Redemptions: &e.Redemptions, Wake: asleep, Logged: logged}

	e.Webhooks.Base, e.Deliveries.Base, e.SigningKeys.Base = b, b, b

	e.Gateways = payments.Gateways{Base: b, Wake: asleep, Logged: logged}
	e.Notifications = payments.Notifications{Base: b, Gateways: &e.Gateways}
	e.Operations = payments.Operations{Base: b, Gateways: &e.Gateways}
	e.Sweeps.Base = b
	e.Discounts = payments.Discounts{Base: b, Gateways: &e.Gateways}
	e.Promotions = payments.Promotions{Base: b, Gateways: &e.Gateways}
	e.Payments = payments.Payments{Base: b, Gateways: &e.Gateways, Billing: &e.Billing}
	e.Billing = payments.Billing{Base: b, Gateways: &e.Gateways, Discounts: &e.Discounts, Redemptions: &e.Redemptions}

	e.Admin = admin.Admin{
		APIKeys:   admin.APIKeys{Base: b, API: &e.APIKeys},
		Files:     admin.Files{Base: b, Jobs: &e.Jobs},
		Gateway:   admin.Gateway{Base: b, Tenants: &e.Tenants, API: &e.Gateways, Notifications: &e.Notifications, Operations: &e.Operations},
		Pipelines: admin.Pipelines{Base: b, API: &e.Pipelines},
		Programs:  admin.Programs{Base: b, API: &e.Programs, Tanks: &e.FuelTanks},
		Referrals: admin.Referrals{Base: b, API: &e.Referrals, Moderation: &e.Moderation, Rewards: &e.Rewards},
		SFTPKeys:  admin.SFTPKeys{Base: b, API: &e.SFTPKeys},
		Users: admin.Users{
			Base: b, Codes: &e.Codes, Erasures: &e.Erasures, Events: &e.Events, Programs: &e.Programs,
			Referrals: &e.Referrals, Rewards: &e.Rewards, Users: &e.Users,
		},
		Webhooks: admin.Webhooks{Base: b, API: &e.Webhooks, Deliveries: &e.Deliveries},
		Website:  admin.Website{Base: b, Tenants: &e.Tenants, Origins: &e.Origins, Programs: &e.Programs},
	}
	return e
}
