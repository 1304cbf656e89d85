// Package admin has what the members of a tenant do with it in the portal: they read and
// change its programs, users, rewards, imports and integrations. Each use case takes a
// people.Caller, requires an operation of the caller's role, and calls the use case of the
// API. One that changes something adds an entry to the audit log, in the transaction that
// makes the change.
package admin

import (
	"kith/backend/app/base"
	"kith/backend/app/events"
	"kith/backend/app/jobs"
	"kith/backend/app/orders"
	"kith/backend/app/programs"
	"kith/backend/app/referrals"
	"kith/backend/app/rewards"
	"kith/backend/app/statistics"
	"kith/backend/app/tenants"
	"kith/backend/app/users"
	"kith/backend/app/widgets"
)

// Admin has the use cases by subject. Its fields are set by New.
type Admin struct {
	Files     Files
	Overview  Overview
	Programs  Programs
	Referrals Referrals
	SFTPKeys  SFTPKeys
	Users     Users
}

// UseCases are the use cases of the API that Admin calls.
type UseCases struct {
	Analytics  *statistics.Analytics
	Codes      *referrals.Codes
	Erasures   *users.Erasures
	Events     *events.Events
	Files      *jobs.Files
	FuelTanks  *rewards.FuelTanks
	Jobs       *jobs.Jobs
	Moderation *rewards.Moderation
	Orders     *orders.Orders
	Programs   *programs.Programs
	Referrals  *referrals.Referrals
	Rewards    *rewards.Rewards
	SFTPKeys   *tenants.SFTPKeys
	Users      *users.Users
	Widgets    *widgets.Widgets
}

// New returns the use cases of members.
func New(b *base.Base, u UseCases) Admin {
	return Admin{
		Files:     Files{b, u.Files, u.Jobs},
		Overview:  Overview{u.Analytics},
		Programs:  Programs{b, u.Programs, u.Orders, u.FuelTanks, u.Widgets},
		Referrals: Referrals{b, u.Referrals, u.Moderation, u.Rewards},
		SFTPKeys:  SFTPKeys{b, u.SFTPKeys},
		Users:     Users{b, u},
	}
}
