package team

import (
	"bufio"
	"strconv"
	"strings"
	"time"

	"kith/backend/portal/frame"
	"kith/core"
	"kith/core/operation"
	"kith/core/people"
)

// auditLog is the data of the audit log.
type auditLog struct {
	*frame.Form
	Entries []people.Entry
	Actions []frame.Option
	// Zone is the zone of the days in the filter. Filtered is true if the filter selects.
	Zone     string
	Filtered bool
	frame.Links
}

// changes returns what an entry changed: of a program the fields of its form, of other things
// what frame.Changes returns.
func changes(programs ofProgram) func(people.Entry) []frame.Change {
	return func(e people.Entry) []frame.Change {
		if e.Action == operation.CreateProgram.Action || e.Action == operation.ChangeProgram.Action {
			if all, ok := programs(e.Before, e.After); ok {
				return all
			}
		}
		return frame.Changes(e)
	}
}

// Fields returns the fields of the filter.
func (auditLog) Fields() []string {
	return []string{"actor", "action", "subject", "from", "to", "zone"}
}

// auditFilter reads the filter of the audit log from the form.
func auditFilter(f *frame.Form) (filter people.AuditFilter, zone *time.Location, err error) {
	zone = frame.Zone(f.Value("zone"))
	filter = people.AuditFilter{
		Actor: strings.TrimSpace(f.Value("actor")), Subject: strings.TrimSpace(f.Value("subject")), Action: people.Action(f.Value("action")),
	}
	if filter.Span, err = frame.Days(f.Value("from"), f.Value("to"), zone); err != nil {
		return filter, zone, err
	}
	if before := f.Value("before"); before != "" {
		if filter.Before, err = strconv.ParseInt(before, 10, 64); err != nil || filter.Before < 1 {
			return filter, zone, core.Invalid("before", "is not a page of this list; begin at the first page")
		}
	}
	return filter, zone, filter.Check(operation.Actions())
}

var auditLabels = map[string]string{"actor": "The text after Made by", "subject": "The subject", "action": "The action", "from": "The first day", "to": "The last day"}

func auditPage(v *frame.Visit) error {
	f := v.NewForm()
	filter, zone, err := auditFilter(f)
	data := auditLog{Form: f, Zone: zone.String(), Filtered: filter != people.AuditFilter{Before: filter.Before}, Actions: actionOptions(filter.Action)}
	var next int64
	if err == nil {
		data.Entries, next, err = v.Engine.Audits.Page(v.Ctx(), v.Caller, filter)
	}
	if err != nil {
		if !f.Refuse(err, auditLabels) {
			return err
		}
	}
	data.Links = frame.LinksOf(v, "before", next, filter.Before == 0)
	return v.Page(f.Status(), "audit", "Audit log", data)
}

func actionOptions(chosen people.Action) []frame.Option {
	all := []frame.Option{{Label: "any action", Chosen: chosen == ""}}
	for _, a := range operation.Actions() {
		all = append(all, frame.Option{Value: string(a), Label: operation.Did(a), Chosen: a == chosen})
	}
	return all
}

// exportAudit writes the entries that the filter selects as a file.
func exportAudit(v *frame.Visit) error {
	f := v.NewForm()
	filter, zone, err := auditFilter(f)
	if err != nil {
		return err
	}
	format, err := people.ParseAuditFormat("format", f.Value("format"))
	if err != nil {
		return err
	}
	return v.Download(v.FileName("audit", string(format)), format.Type(), func(w *bufio.Writer) error {
		_, err := v.Engine.Audits.Export(v.Ctx(), v.Caller, filter, format, zone, w)
		return err
	})
}
