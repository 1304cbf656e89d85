// Package programs has the pages of referral programs: their settings in sentences and as a
// form, trials of events, versions, previews of widgets, and fuel tanks.
package programs

import (
	"embed"
	"html/template"

	"kith/backend/portal/frame"
	"kith/core"
	"kith/core/operation"
	"kith/core/referral"
)

//go:embed page
var files embed.FS

//go:embed programs.css
var style string

// Section is the section of the programs.
func Section() *frame.Section {
	return &frame.Section{
		Key: "programs", Title: "Programs", Letter: "r", Needs: operation.ReadPrograms, Shortcuts: shortcuts,
		Pages: frame.Pages{
			Files: files, Style: style,
			Routes: frame.Routes{
				// No key of a program has an underscore.
				"GET ":                        list,
				"GET /_new":                   writing(newPage),
				"POST /_new":                  writing(create),
				"POST /_new/preview":          writing(previewNew),
				"GET /{program}":              onTab("settings", editPage),
				"POST /{program}":             writing(onTab("settings", save)),
				"POST /{program}/preview":     writing(onTab("settings", preview)),
				"POST /{program}/delete":      writing(onTab("settings", remove)),
				"GET /{program}/try":          onTab("try", tryPage),
				"GET /{program}/history":      onTab("history", historyPage),
				"GET /{program}/widget":       onTab("widget", widgetPage),
				"GET /{program}/widget/frame": onTab("widget", widgetFrame),
				"GET /{program}/codes":        codesPage,
			},
			Uploads: frame.Routes{"POST /{program}/codes/{side}": writing(onTab("codes", fill))},
			Functions: template.FuncMap{
				"field": newEntry, "language": languageName,
				"signal":     func(s referral.Signal) string { return "fraud.signals." + string(s) },
				"invitation": func(tag, field string) string { return "invitations." + tag + "." + field },
			},
			Done: map[string]string{
				"program-created": "The program is created. Below are the next steps, and everything else that you can set.",
				"program-saved":   "The program is saved. It counts for what happens from now on.",
				"program-deleted": "The program is deleted.",
				"codes-added":     "The codes are in the fuel tank. Codes that it had before were skipped.",
			},
		},
	}
}

// shortcuts returns the pages of each program, and that of a new one.
func shortcuts(v *frame.Visit) (all []frame.Shortcut, err error) {
	programs, err := v.Engine.Programs.List(v.Ctx(), v.Caller.Tenant)
	for _, p := range programs {
		at, name := "/"+string(p.Key), p.Name
		if name != string(p.Key) {
			name += " (" + string(p.Key) + ")" // either may be searched for
		}
		all = append(all,
			frame.Shortcut{Title: name + ": Settings, rewards, limits, share links, fraud, invitations", Path: at},
			frame.Shortcut{Title: name + ": Try an event", Path: at + "/try"}, frame.Shortcut{Title: name + ": Widget", Path: at + "/widget"},
			frame.Shortcut{Title: name + ": History", Path: at + "/history"},
		)
		if givesCodes(p) {
			all = append(all, frame.Shortcut{Title: name + ": Coupon codes", Path: at + "/codes"})
		}
	}
	if v.May(operation.ChangeProgram) {
		all = append(all, frame.Shortcut{Title: "New program", Path: "/_new"})
	}
	return all, err
}

// writing returns h behind a check of the permission to change programs. The use cases check
// it again; the check here is before the form is read.
func writing(h frame.Handler) frame.Handler {
	return func(v *frame.Visit) error {
		if err := operation.ChangeProgram.Require(v.Caller); err != nil {
			return err
		}
		return h(v)
	}
}

// key returns the key of the program in the path.
func key(v *frame.Visit) (core.ProgramKey, error) {
	key, err := core.ParseProgramKey("id", v.R.PathValue("program"))
	if err != nil {
		return "", unknown()
	}
	return key, nil
}

func unknown() *core.Error {
	return core.NotFound("There is no program with this key. It may have been deleted; open the list of programs.")
}
