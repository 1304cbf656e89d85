package wire

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
	"github.com/valyala/fastjson"

	"kith/core"
	"kith/core/importfile"
	"kith/core/job"
	"kith/core/referral"
)

// maxParams is the most bytes of a job's params, as sent.
const maxParams = 64 << 10

// ParseExport parses the body of POST /export (clients 1.9.3).
func ParseExport(tenant core.TenantAlias, body []byte) (job.Input, error) {
	in := job.Input{Requester: job.RequesterAPI, Format: job.CSV, Params: "{}"}
	p := jobParser{tenant: tenant, body: body, in: &in, parseType: job.ParseExportType, format: "format"}
	err := object(body, MaxBody, "", func(r *reader, key string, v *fastjson.Value) bool {
		return key != "fileRef" && p.take(r, key, v)
	})
	if err == nil && in.Type == "" {
		err = core.Invalid("type", "is required")
	}
	if err == nil {
		_, err = ParseJobParams(in.Type, in.Params)
	}
	return in, err
}

// ParseJobInput parses a GraphQL JobInput, given as JSON (spec 2.2). Errors
// have fields below at.
func ParseJobInput(tenant core.TenantAlias, at string, input []byte) (job.Input, error) {
	in := job.Input{Requester: job.RequesterAPI, Format: job.CSV, Params: "{}"}
	p := jobParser{tenant: tenant, body: input, in: &in, parseType: job.ParseType, format: "outputFormat"}
	err := object(input, MaxBody, at, p.take)
	switch {
	case err != nil:
	case in.Type == "":
		err = core.Invalid(at+".type", "is required")
	case in.Type.Import() && in.File == "":
		err = core.Invalid(at+".fileRef", "is required for this type of job")
	case !in.Type.Import() && in.File != "":
		err = core.Invalid(at+".fileRef", "must be left out for this type of job")
	default:
		_, err = ParseJobParams(in.Type, in.Params)
	}
	return in, err
}

type jobParser struct {
	tenant    core.TenantAlias
	body      []byte
	in        *job.Input
	parseType func(field, s string) (job.Type, error)
	// format is the name of the key with the format.
	format string
}

func (p jobParser) take(r *reader, key string, v *fastjson.Value) bool {
	switch key {
	case "type":
		return setParsed(r, key, v, &p.in.Type, p.parseType)
	case p.format:
		return setParsed(r, key, v, &p.in.Format, job.ParseFormat)
	case "name":
		return setParsed(r, key, v, &p.in.Name, anyText)
	case "requester":
		return setParsed(r, key, v, &p.in.Requester, anyText)
	case "mailtoEmail":
		return setParsed(r, key, v, &p.in.MailTo, anyText)
	case "fileRef":
		return setParsed(r, key, v, &p.in.File, func(field, s string) (core.FileRef, error) {
			return core.ParseFileRef(field, p.tenant, s)
		})
	case "params":
		return p.params(r, key, v)
	}
	return false
}

// params stores the object as sent, without nulls, because responses return it
// (clients 1.9.5).
func (p jobParser) params(r *reader, key string, v *fastjson.Value) bool {
	switch v.Type() {
	case fastjson.TypeNull:
		return true
	case fastjson.TypeObject:
	default:
		return r.wrongType(key, "an object")
	}
	raw := gjson.GetBytes(p.body, "params").Raw
	if len(raw) > maxParams {
		return r.fail(core.Invalid(r.path(key), "must not be longer than "+strconv.Itoa(maxParams)+" bytes"))
	}
	p.in.Params = withoutNulls(raw)
	return true
}

// Columns returns a mapping of columns as JSON.
func Columns(m importfile.Mapping) []byte {
	w := begin(nil)
	for _, name := range m.Names() {
		w.text(name, m[name])
	}
	return w.end()
}

// ColumnsParam returns the params of an import that has only a mapping, given as JSON.
func ColumnsParam(columns string) string { return `{"columns":` + columns + `}` }

// Upload returns the response to POST /export/upload (spec 4.1.1). It says how the file was
// read if that was not as UTF-8 with commas.
func Upload(ref core.FileRef, d importfile.Dialect) []byte {
	w := begin(nil)
	w.text("fileRef", string(ref))
	if !d.Plain() {
		w.text("readAs", d.Words())
	}
	return w.end()
}

// Export returns a REST export as JSON (clients 1.9.5).
func Export(j job.Job, now core.Time) []byte { return appendExport(nil, j, now) }

// Exports returns the response to GET /export/history/list: {data, count,
// totalCount}. total is the number of exports on all pages.
func Exports(page []job.Job, total int, now core.Time) []byte {
	return pageOf("data", page, total, func(b []byte, j job.Job) []byte { return appendExport(b, j, now) })
}

func appendExport(b []byte, j job.Job, now core.Time) []byte {
	w := begin(b)
	w.text("id", j.ID)
	w.text("type", j.Type.Task())
	w.text("format", string(j.Format))
	w.textOrNull("name", j.Name)
	w.text("requester", j.Requester)
	w.raw("params", j.Params)
	w.text("status", string(j.ExportStatus(now)))
	w.stats(j.Stats)
	w.date("dateCreated", j.Created)
	w.date("dateCompleted", j.Completed)
	w.date("dateExpires", j.Expires)
	return w.end()
}

// JobEvent returns the data of the webhooks export.created, export.completed and
// job.completed (clients 6.5.12).
func JobEvent(j job.Job) []byte {
	w := begin(nil)
	w.text("id", j.ID)
	w.text("operation", j.Type.Operation())
	w.text("task", j.Type.Task())
	w.textOrNull("name", j.Name)
	w.text("requester", j.Requester)
	w.text("outputFormat", string(j.Format))
	w.textOrNull("mailtoEmail", j.MailTo)
	w.raw("params", j.Params)
	w.textOrNull("fileRef", string(j.File))
	w.text("status", string(j.Status))
	w.textOrNull("message", j.Message)
	w.stats(j.Stats)
	w.date("dateCreated", j.Created)
	w.date("dateCompleted", j.Completed)
	w.date("dateExpires", j.Expires)
	return w.end()
}

func (w *writer) stats(s job.Stats) {
	w.object("stats", func() {
		w.number("recordsProcessed", s.Processed)
		w.number("errors", s.Errors)
	})
}

// FileType returns the media type of a file by its name.
func FileType(name string) string {
	switch {
	case strings.HasSuffix(name, ".csv"):
		return "text/csv; charset=utf-8"
	case strings.HasSuffix(name, ".xlsx"):
		return "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	}
	return "application/octet-stream"
}

// maxEventKeys is the most keys in the filter of an export of events.
const maxEventKeys = 100

// ParseJobParams parses the params of a job. Errors have fields below "params".
func ParseJobParams(t job.Type, params string) (job.Params, error) {
	p := paramParser{job: t}
	take := p.export
	if t.Import() {
		take = p.load
	}
	err := object([]byte(params), maxParams, "params", take)
	return p.out, err
}

type paramParser struct {
	job job.Type
	out job.Params
}

// export parses a param of a job that writes a file.
func (p *paramParser) export(r *reader, key string, v *fastjson.Value) bool {
	switch key {
	case "createdSince":
		return bound(r, key, v, &p.out.Created.From)
	case "createdBefore":
		return bound(r, key, v, &p.out.Created.Before)
	case "updatedSince":
		return bound(r, key, v, &p.out.Updated.From)
	case "updatedBefore":
		return bound(r, key, v, &p.out.Updated.Before)
	case "createdOrUpdatedSince":
		return bound(r, key, v, &p.out.Changed.From)
	case "createdOrUpdatedBefore":
		return bound(r, key, v, &p.out.Changed.Before)
	case "programId":
		return setParsed(r, key, v, &p.out.Program, core.ParseProgramKey)
	case "dateFormat":
		return setParsed(r, key, v, &p.out.Dates, job.ParseExportDates)
	case "timeZone":
		return take(r.text, &p.out.Zone, key, v)
	case "filter":
		return r.nested(key, v, p.filter)
	case "fields":
		return r.nested(key, v, columnGroup)
	}
	return false
}

// bound parses a param that is an end of a span; see core.Bound. Null is no bound. The Singer tap
// sends times with any offset, or without a zone, or only a day (clients 7.3.1).
func bound(r *reader, key string, v *fastjson.Value, into *core.Time) bool {
	if v.Type() == fastjson.TypeNull {
		return true
	}
	known := r.date(into, key, v, 0)
	*into = core.Bound(*into)
	return known
}

// columnGroup parses a key of the param "fields" (clients 1.9.4, clients 3.1.6) and ignores
// it: no client document says which columns it adds, and files always have all
// columns.
func columnGroup(r *reader, key string, v *fastjson.Value) bool {
	switch key {
	case "includeUserStatsFields", "includeUserFields", "includeReferralFields",
		"includeProgramShareLinksAndReferralCodes", "includeSegments":
		var b *bool
		return r.boolean(&b, key, v)
	}
	return false
}

// filter parses a key of the param "filter" (clients 3.1.6). It refuses unsupported
// filters, because a caller could not see that one was ignored.
func (p *paramParser) filter(r *reader, key string, v *fastjson.Value) bool {
	switch {
	case p.job == job.UserEvent && key == "key_eq":
		var s *string
		if r.text(&s, key, v); s != nil {
			p.out.EventKeys = append(p.out.EventKeys, *s)
		}
		return true
	case p.job == job.UserEvent && key == "key_in":
		return parsedItems(r, key, v, maxEventKeys, &p.out.EventKeys, anyText)
	case p.job == job.RedeemableRewardBalance && key == "unit_eq":
		return setParsed(r, key, v, &p.out.Unit, anyText)
	}
	return false
}

// load parses a param of a job that reads a file.
func (p *paramParser) load(r *reader, key string, v *fastjson.Value) bool {
	switch {
	case key == "importEvaluationOptions":
		return r.nested(key, v, p.evaluation)
	case key == "maxErrors":
		var most *int64
		if r.integer(&most, key, v, 1); most != nil {
			if *most > job.MaxErrorsLimit {
				return r.fail(core.Invalid(r.path(key), "must be "+strconv.Itoa(job.MaxErrorsLimit)+" or less"))
			}
			p.out.MaxErrors = *most
		}
		return true
	case key == "columns":
		p.out.Columns = map[string]string{}
		return r.nested(key, v, func(r *reader, key string, v *fastjson.Value) bool {
			if len(p.out.Columns) == importfile.MaxColumns {
				return r.fail(core.Invalid(r.path(key), "is one of more than "+strconv.Itoa(importfile.MaxColumns)+" columns"))
			}
			var source *string
			if r.text(&source, key, v); source != nil {
				p.out.Columns[key] = *source
			}
			return true
		})
	case key == "segments" && p.job == job.ImportUser:
		return parsedItems(r, key, v, referral.MaxSegments, &p.out.Segments, anyText)
	case key == "programId" && p.job == job.ImportUser:
		return setParsed(r, key, v, &p.out.Program, core.ParseProgramKey)
	case key == "preserveEmptyAccounts" && p.job == job.ImportDelete:
		return r.boolean(&p.out.PreserveEmptyAccounts, key, v)
	case key == "doNotTrack" && p.job == job.ImportDelete:
		return r.boolean(&p.out.DoNotTrack, key, v)
	}
	return false
}

// evaluation parses an option for the side effects of an import.
func (p *paramParser) evaluation(r *reader, key string, v *fastjson.Value) bool {
	var b *bool
	switch key {
	case "webhooks":
		r.boolean(&b, key, v)
		p.out.Silent = b != nil && !*b
		return true
	case "programs", "analytics":
		if r.boolean(&b, key, v); b != nil && !*b {
			return r.fail(core.Invalid(r.path(key), "cannot be turned off for imports; leave it out"))
		}
		return true
	}
	return false
}

// withoutNulls returns params without keys that are null. Other values are as sent.
func withoutNulls(params string) string {
	w := begin(nil)
	nulls := false
	gjson.Parse(params).ForEach(func(key, value gjson.Result) bool {
		switch {
		case value.Type == gjson.Null:
			nulls = true
		case value.IsObject():
			inner := withoutNulls(value.Raw)
			nulls = nulls || inner != value.Raw
			w.raw(key.String(), inner)
		default:
			w.raw(key.String(), value.Raw)
		}
		return true
	})
	if !nulls {
		return params
	}
	return string(w.end())
}
