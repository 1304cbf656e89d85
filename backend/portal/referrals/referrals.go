// Package referrals has the pages of referrals: their list, and for each one what happened
// and why, with the decisions that people make about it and its rewards.
package referrals

import (
	"embed"
	"html/template"

	"kith/backend/portal/frame"
	"kith/core/operation"
)

//go:embed page
var files embed.FS

//go:embed asset/referrals.css
var style string

//go:embed asset/referrals.js
var script string

// Section is the section of the referrals.
func Section() *frame.Section {
	return &frame.Section{
		Key: "referrals", Title: "Referrals", Letter: "f", Needs: operation.ReadReferrals,
		Finds: []frame.Find{{Title: "Find referrals of the person", Parameter: "person"}, {Title: "Find referrals by the code", Parameter: "code"}},
		Shortcuts: func(*frame.Visit) ([]frame.Shortcut, error) {
			return []frame.Shortcut{{Title: "Unknown codes", Path: "/unknown"}}, nil
		},
		Pages: frame.Pages{
			Files: files, Style: style, Script: script,
			Routes: frame.Routes{
				"GET ":                        listPage,
				"POST /export":                export,
				"GET /moderate":               moderatePage,
				"POST /moderate":              moderate,
				"GET /unknown":                unknownPage,
				"GET /{id}":                   referralPage,
				"GET /{id}/rewards/{reward}":  cancelPage,
				"POST /{id}/rewards/{reward}": cancel,
			},
			Functions: template.FuncMap{
				"who": who, "tags": tagsOf, "kind": kindName, "side": sideName, "gets": getsOf,
			},
			Done: map[string]string{
				"referrals-approved": "Approved. Rewards that were held are given at once, or on their date. If an event converts, this takes a moment.",
				"referrals-denied":   "Denied. What was left of the rewards is cancelled. If an event converts, this takes a moment.",
				"reward-cancelled":   "The reward is cancelled. What was used of it stays used.",
			},
		},
	}
}
