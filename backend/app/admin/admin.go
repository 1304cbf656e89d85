// Package admin has what the members of a tenant do with it in the portal: they read and
// change its programs, users, rewards, imports and integrations. Each use case takes a
// people.Caller, requires an operation of the caller's role, and calls the use case of the
// API. One that changes something adds an entry to the audit log, in the transaction that
// makes the change.
package admin

import (
	"kith/backend/app/base"
	"kith/backend/app/jobs"
	"kith/backend/app/programs"
	"kith/backend/app/tenants"
)

// Admin has the use cases by subject. Its fields are set by New.
type Admin struct {
	Programs Programs
	Files    Files
	SFTPKeys SFTPKeys
}

// UseCases are the use cases of the API that Admin calls.
type UseCases struct {
	Programs *programs.Programs
	Files    *jobs.Files
	Jobs     *jobs.Jobs
	SFTPKeys *tenants.SFTPKeys
}

// New returns the use cases of members.
func New(b *base.Base, u UseCases) Admin {
	return Admin{
		Programs: Programs{b, u.Programs},
		Files:    Files{b, u.Files, u.Jobs},
		SFTPKeys: SFTPKeys{b, u.SFTPKeys},
	}
}
