package team

import (
	"bufio"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"kith/backend/portal/frame"
	"kith/core"
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

// fieldChange is one field of a change. Was and Is are empty if the field was not there.
type fieldChange struct{ Key, Was, Is string }

// fieldChanges returns the fields of an entry that its change added, removed or replaced,
// by name.
func fieldChanges(e people.Entry) (all []fieldChange) {
	before, after := fieldsOf(e.Before), fieldsOf(e.After)
	names := slices.Sorted(maps.Keys(after))
	for name := range before {
		if _, both := after[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if before[name] != after[name] {
			all = append(all, fieldChange{name, before[name], after[name]})
		}
	}
	return all
}

// fieldsOf returns the fields of a JSON object as texts: strings as they are, and other
// values as JSON.
func fieldsOf(object string) map[string]string {
	var raw map[string]json.RawMessage
	if json.Unmarshal([]byte(object), &raw) != nil {
		return nil // it is empty
	}
	fields := map[string]string{}
	for name, value := range raw {
		var text string
		if json.Unmarshal(value, &text) != nil {
			text = string(value)
		}
		fields[name] = text
	}
	return fields
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
	return filter, zone, filter.Check()
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
	for _, a := range people.Actions() {
		all = append(all, frame.Option{Value: string(a), Label: a.Describe(), Chosen: a == chosen})
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
	name := "audit-" + string(v.Caller.Tenant) + "-" + v.Now().UTC().Format("2006-01-02") + "." + string(format)
	return v.Download(name, format.Type(), func(w *bufio.Writer) error {
		_, err := v.Engine.Audits.Export(v.Ctx(), v.Caller, filter, format, zone, w)
		return err
	})
}
