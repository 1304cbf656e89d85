// Package portal has the pages in which people run their programs: its sections in the order
// of the navigation, in the frame that package frame gives them.
package portal

import (
	"log/slog"

	"kith/backend/app"
	"kith/backend/portal/account"
	"kith/backend/portal/files"
	"kith/backend/portal/frame"
	"kith/backend/portal/integrations"
	"kith/backend/portal/overview"
	"kith/backend/portal/programs"
	"kith/backend/portal/referrals"
	"kith/backend/portal/team"
	"kith/backend/portal/users"
)

// New returns the portal. url is the origin at which people open it, for links that they
// send to others; it may be empty. provider is an identity provider that people may sign in
// with, or nil.
func New(e *app.Engine, url string, log *slog.Logger, provider *account.Provider) *frame.Portal {
	return frame.New(frame.Options{
		Engine: e, URL: url, Log: log,
		Outside: []*frame.Pages{account.Pages(provider)},
		Sections: []*frame.Section{
			overview.Section(),
			programs.Section(),
			referrals.Section(),
			users.Section(),
			files.Section(),
			integrations.Section(),
			team.Members(),
			team.Audit(programs.Changes),
		},
	})
}
