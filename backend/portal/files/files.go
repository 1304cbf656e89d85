// Package files has the pages of imports and exports: their history, the steps from a file to
// its import, exports, and the keys of SFTP clients.
package files

import (
	"embed"
	"errors"
	"html/template"
	"slices"
	"strconv"

	"kith/backend/portal/frame"
	"kith/core"
	"kith/core/importfile"
	"kith/core/job"
	"kith/core/operation"
)

//go:embed page
var pages embed.FS

//go:embed asset/files.css
var style string

//go:embed asset/files.js
var script string

// Section is the section of imports and exports.
func Section() *frame.Section {
	return &frame.Section{
		Key: "files", Title: "Imports and exports", Letter: "i", Needs: operation.ReadImports,
		Shortcuts: func(v *frame.Visit) ([]frame.Shortcut, error) {
			all := []frame.Shortcut{{Title: "Import a file", Path: "/import"}}
			if v.May(operation.StartExport) {
				all = append(all, frame.Shortcut{Title: "Export", Path: "/export"})
			}
			if v.May(operation.ReadIntegrations) {
				all = append(all, frame.Shortcut{Title: "SFTP keys", Path: "/sftp"})
			}
			return all, nil
		},
		Pages: frame.Pages{
			Files: pages, Style: style, Script: script,
			Routes: frame.Routes{
				"GET ":                  historyPage,
				"GET /import":           frame.Show(showImport),
				"GET /sample/{task}":    downloadSample,
				"POST /join":            join,
				"GET /check":            frame.Show(showCheck),
				"POST /check":           chooseColumns,
				"POST /start":           startImport,
				"GET /export":           exportKinds,
				"GET /export/{task}":    frame.Show(showExport),
				"POST /export/{task}":   startExport,
				"GET /jobs/{job}":       jobPage,
				"POST /jobs/{job}/end":  removeJob,
				"POST /jobs/{job}/stop": stopImport,
				"POST /jobs/{job}/get":  download,
				"GET /sftp":             frame.Show(showSFTP),
				"POST /sftp/add":        addKey,
				"POST /sftp/remove":     removeKey,
			},
			Uploads: frame.Routes{
				"POST /upload": upload,
				"POST /pieces": addPiece,
			},
			Functions: template.FuncMap{
				"count": frame.Number, "rows": rows, "bytes": bytes, "about": about, "kind": kindOf, "path": pathOf, "words": words,
			},
			Done: map[string]string{
				"job-removed": "It is removed, and the files that it wrote are deleted.",
				"key-added":   "The key is added. Its owner can send files now.",
				"key-removed": "The key is removed, and its open connections are closed.",
			},
		},
	}
}

// kind describes a type of job to people.
type kind struct {
	Type job.Type
	// Title is what the file has, and What says what an import does with it, or what an
	// export writes.
	Title, What string
	// Rows is the noun of the rows that an import changes.
	One, Many string
	// ByProgram, ByDay, ByEvent and ByUnit are true for exports with these filters.
	ByProgram, ByEvent, ByUnit bool
}

// Task is the name of the kind in paths.
func (k kind) Task() string { return k.Type.Task() }

// Columns are the columns of the kind's sample file.
func (k kind) Columns() []string { return importfile.SampleColumns(k.Type) }

// imports are the kinds of imports, exports those of exports.
var (
	imports = []kind{
		{Type: job.ImportUser, Title: "Users", One: "user", Many: "users", What: "Adds users, and changes those that exist: names, mail addresses, referral codes and your own fields."},
		{Type: job.ImportUserEvent, Title: "Events of users", One: "event", Many: "events", What: "Adds purchases and other events. They convert referrals and give rewards, as events of the API do."},
		{Type: job.ImportRedeem, Title: "Redeemed rewards", One: "redemption", Many: "redemptions", What: "Redeems credit that users have spent elsewhere, such as in your shop."},
		{Type: job.ImportDelete, Title: "Deletions", One: "deletion", Many: "deletions", What: "Deletes users with all of their data. This cannot be undone."},
	}
	exports = []kind{
		{Type: job.User, Title: "Users", What: "All users, with their share links."},
		{Type: job.Referral, Title: "Referrals", What: "All referrals, with both users, their rewards, and the dates of each step.", ByProgram: true},
		{Type: job.UserReferral, Title: "Users and who referred them", What: "All users, each with the referral by which the user came.", ByProgram: true},
		{Type: job.Reward, Title: "Rewards", What: "All rewards, with their values and what was redeemed of them.", ByProgram: true},
		{Type: job.UserRewardBalance, Title: "Reward balances of users", What: "What each user can redeem, with names and mail addresses.", ByProgram: true},
		{Type: job.RewardBalance, Title: "Reward balances, without names", What: "What each user can redeem, by ids only.", ByProgram: true},
		{Type: job.RedeemableRewardBalance, Title: "Balances to redeem", What: "The file that you complete and import as redeemed rewards.", ByProgram: true, ByUnit: true},
		{Type: job.UserEvent, Title: "Events of users", What: "All events, with their fields.", ByEvent: true},
	}
)

// kindOf returns the kind of a type of job.
func kindOf(t job.Type) kind {
	for _, k := range slices.Concat(imports, exports) {
		if k.Type == t {
			return k
		}
	}
	return kind{Type: t, Title: string(t)}
}

// kindIn returns the kind with a task, or an error about the field "type".
func kindIn(all []kind, task string) (kind, error) {
	for _, k := range all {
		if k.Task() == task {
			return k, nil
		}
	}
	return kind{}, core.Invalid("type", "is not chosen; choose one of the list")
}

// fieldNames are the fields of the forms that have another name in the API.
var fieldNames = map[string]string{
	"params.maxErrors": "maxErrors", "params.programId": "program", "params.dateFormat": "dates", "params.createdSince": "from", "params.createdBefore": "to",
	"params.filter.key_eq": "event", "params.filter.unit_eq": "unit", "pieces": "file",
}

// ofForm returns an error of the API as an error about the field of a form.
func ofForm(err error) error {
	var e *core.Error
	if errors.As(err, &e) && fieldNames[e.Field] != "" {
		renamed := *e
		renamed.Field = fieldNames[e.Field]
		return &renamed
	}
	return err
}

// pathOf returns the path of the page of a job.
func pathOf(tenant core.TenantAlias, id string) string {
	return frame.Root + "/t/" + string(tenant) + "/files/jobs/" + id
}

// rows returns a number of rows, such as "1 row" or "1,198 rows".
func rows(n int64) template.HTML {
	if n == 1 {
		return "1 row"
	}
	return frame.Number(n) + " rows"
}

// bytes returns a size as people read it, such as "1.2 MB".
func bytes(n int64) template.HTML {
	units := []template.HTML{" bytes", " kB", " MB", " GB"}
	unit, tenths := 0, 10*n
	for tenths >= 10_000 && unit < len(units)-1 {
		tenths, unit = (tenths+500)/1000, unit+1
	}
	if n == 1 {
		return "1 byte"
	}
	return frame.Tenths(tenths) + units[unit]
}

// about returns a duration in one unit, such as "about 2 minutes".
func about(d core.Time) string {
	for _, step := range []struct {
		unit core.Time
		name string
	}{{core.Day, "day"}, {core.Hour, "hour"}, {core.Minute, "minute"}, {core.Second, "second"}} {
		if d >= step.unit {
			n := int64((d + step.unit/2) / step.unit)
			if n == 1 {
				return "about 1 " + step.name
			}
			return "about " + strconv.FormatInt(n, 10) + " " + step.name + "s"
		}
	}
	return "less than a second"
}
