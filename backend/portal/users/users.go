// Package users has the pages of the users of a tenant, who refer and are referred: a search,
// a profile, and what members do for or about a user.
package users

import (
	"embed"
	"html/template"

	"kith/backend/portal/frame"
	"kith/core/operation"
)

//go:embed page
var files embed.FS

//go:embed page/users.css
var style string

// Section is the section of the users.
func Section() *frame.Section {
	return &frame.Section{
		Key: "people", Title: "People", Letter: "u", Needs: operation.ReadReferrals,
		Finds: []frame.Find{{Title: "Find the person or the code", Parameter: "search"}},
		Shortcuts: func(*frame.Visit) ([]frame.Shortcut, error) {
			return []frame.Shortcut{{Title: "Refused events", Path: "/refused"}}, nil
		},
		Pages: frame.Pages{
			Files: files, Style: style,
			Routes: frame.Routes{
				"GET ":                                    findPage,
				"GET /refused":                            refusedPage,
				"GET /{account}/{user}":                   profilePage,
				"GET /{account}/{user}/reward":            frame.Show(showReward),
				"POST /{account}/{user}/reward":           addReward,
				"GET /{account}/{user}/rewards/{reward}":  frame.Show(showCancellation),
				"POST /{account}/{user}/rewards/{reward}": cancel,
				"GET /{account}/{user}/event":             frame.Show(showEvent),
				"POST /{account}/{user}/event":            addEvent,
				"GET /{account}/{user}/referrer":          frame.Show(showReferrer),
				"POST /{account}/{user}/referrer":         attribute,
				"GET /{account}/{user}/block":             frame.Show(showBlock),
				"POST /{account}/{user}/block":            block,
				"POST /{account}/{user}/unblock":          unblock,
				"GET /{account}/{user}/data":              frame.Show(showData),
				"POST /{account}/{user}/export":           export,
				"POST /{account}/{user}/erase":            erase,
			},
			Functions: template.FuncMap{
				"fields": fieldsOf, "why": rewardReason, "earned": earned, "refusedEvents": refusedEvents,
				"state": stateText, "mediums": mediums,
			},
			Done: map[string]string{
				"reward-added":    "The reward is added. It is the first one in the list of rewards.",
				"event-added":     "The event is accepted. It appears in the list of events in a moment; load the page again to see it.",
				"user-attributed": "The user is attributed. The attribution history has the decision with your reason.",
				"user-blocked":    "The user is blocked, and starts no referral from now on.",
				"user-unblocked":  "The user may refer others again.",
				"user-erased":     "The user is erased. The audit log has the time and your name, but no data of the user.",
			},
		},
	}
}
