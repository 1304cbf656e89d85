// Package admin has what the members of a tenant do with it in the portal: they change its
// programs, users, rewards, imports and integrations, and read what the API does not have. Each
// use case takes a people.Caller, requires an operation of the caller's role, and calls the use
// case of the API. One that changes something adds an entry to the audit log, in the transaction
// that makes the change. For other reads, the sections of the portal call the use cases of the
// API: the operation that a section needs permits them.
package admin

// Admin has the use cases by subject.
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
