// Package team has the pages of the people who work in a tenant: members and the audit log.
package team

import (
	"embed"
	"html/template"

	"kith/backend/portal/frame"
	"kith/core/operation"
)

//go:embed page
var files embed.FS

// Members is the section of the members.
func Members() *frame.Section {
	return &frame.Section{
		Key: "members", Title: "Members", Letter: "m", Needs: operation.ReadMembers,
		Pages: frame.Pages{
			Files: files,
			Routes: frame.Routes{
				"GET ":                  frame.Show(membersPage),
				"POST /invite":          invite,
				"POST /second-step":     requireSecondStep,
				"POST /revoke":          revokeInvitation,
				"GET /{person}":         frame.Show(showMember),
				"POST /{person}/role":   changeRole,
				"POST /{person}/remove": removeMember,
			},
			Functions: functions(nil),
			Done: map[string]string{
				"second-step-on":   "Two-step sign-in is required of all members who have a password.",
				"second-step-off":  "Two-step sign-in is not required any more.",
				"role-changed":     "The role is changed. It counts from the next page that the person opens.",
				"member-removed":   "The person is no member any more.",
				"invitation-ended": "The invitation is revoked. Its link does not work any more.",
			},
		},
	}
}

// ofProgram returns the changes between two programs, as the audit log has them, and false if
// it cannot read them.
type ofProgram func(before, after string) ([]frame.Change, bool)

// Audit is the section of the audit log.
func Audit(programs ofProgram) *frame.Section {
	return &frame.Section{
		Key: "audit", Title: "Audit log", Letter: "a", Needs: operation.ReadAudit,
		Pages: frame.Pages{
			Files: files, Functions: functions(programs),
			Routes: frame.Routes{"GET ": auditPage, "POST /export": exportAudit},
		},
	}
}

// functions are those of the templates of both sections, which share their files.
func functions(programs ofProgram) template.FuncMap {
	return template.FuncMap{"changes": changes(programs)}
}
