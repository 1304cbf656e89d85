// Package account has the pages of a person: sign-in, invitations, resetting a password, and
// the person's own profile.
package account

import (
	"embed"
	"html/template"
	"maps"

	"kith/backend/portal/frame"
)

//go:embed page
var files embed.FS

// Pages are the pages. provider is an identity provider that people may sign in with, or
// nil.
func Pages(provider *Provider) *frame.Pages {
	all := frame.Routes{}
	if provider != nil {
		maps.Copy(all, provider.routes())
	}
	for _, routes := range []frame.Routes{signInRoutes, invitationRoutes, resetRoutes, profileRoutes} {
		maps.Copy(all, routes)
	}
	return &frame.Pages{
		Routes: all, Files: files,
		Functions: template.FuncMap{"provider": func() *Provider { return provider }},
		Done: map[string]string{
			"signed-out":       "You are signed out.",
			"password-set":     "Your new password is set, and you are signed out everywhere. Sign in with it.",
			"password-changed": "Your password is changed. You are signed out everywhere else.",
			"renamed":          "Your name is changed.",
			"session-revoked":  "The session has ended.",
			"totp-off":         "Two-step sign-in is off.",
			"joined":           "You are a member now.",
		},
	}
}
