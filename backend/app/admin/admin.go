// Package admin has what the members of a tenant do with it in the portal: they change its
// programs, users, rewards, imports and integrations, and read what the API does not have. Each
// use case takes a people.Caller, requires an operation of the caller's role, and calls the use
// case of the API. One that changes something adds an entry to the audit log, in the transaction
// that makes the change. For other reads, the sections of the portal call the use cases of the
// API: the operation that a section needs permits them.
package admin

import (
	"kith/backend/app/base"
	"kith/backend/app/events"
	"kith/backend/app/jobs"
	"kith/backend/app/payments"
	"kith/backend/app/pipelines"
	"kith/backend/app/programs"
	"kith/backend/app/referrals"
	"kith/backend/app/rewards"
	"kith/backend/app/tenants"
	"kith/backend/app/users"
	"kith/backend/app/webhooks"
)

// Admin has the use cases by subject. Its fields are set by New.
type Admin struct {
	APIKeys   APIKeys
	Files     Files
	Gateway   Gateway
	Pipelines Pipelines
	Programs  Programs
	Referrals Referrals
	SFTPKeys  SFTPKeys
	Users     Users
	Webhooks  Webhooks
	Website   Website
}

// UseCases are the use cases of the API that Admin calls.
type UseCases struct {
	APIKeys       *tenants.APIKeys
	Codes         *referrals.Codes
	Deliveries    *webhooks.Deliveries
	Erasures      *users.Erasures
	Events        *events.Events
	Files         *jobs.Files
	FuelTanks     *rewards.FuelTanks
	Gateways      *payments.Gateways
	Jobs          *jobs.Jobs
	Moderation    *rewards.Moderation
	Notifications *payments.Notifications
	Operations    *payments.Operations
	Origins       *tenants.Origins
	Pipelines     *pipelines.Pipelines
	Programs      *programs.Programs
	Referrals     *referrals.Referrals
	Rewards       *rewards.Rewards
	SFTPKeys      *tenants.SFTPKeys
	Tenants       *tenants.Tenants
	Users         *users.Users
	Webhooks      *webhooks.Subscriptions
}

// New returns the use cases of members.
func New(b *base.Base, u UseCases) Admin {
	return Admin{
		APIKeys:   APIKeys{b, u.APIKeys},
		Files:     Files{b, u.Files, u.Jobs},
		Gateway:   Gateway{b, u.Tenants, u.Gateways, u.Notifications, u.Operations},
		Pipelines: Pipelines{b, u.Pipelines},
		Programs:  Programs{b, u.Programs, u.FuelTanks},
		Referrals: Referrals{b, u.Referrals, u.Moderation, u.Rewards},
		SFTPKeys:  SFTPKeys{b, u.SFTPKeys},
		Users:     Users{b, u},
		Webhooks:  Webhooks{b, u.Webhooks, u.Deliveries},
		Website:   Website{b, u.Tenants, u.Origins, u.Programs},
	}
}
