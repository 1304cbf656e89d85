package wire

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
	"github.com/valyala/fastjson"

	"kith/core"
	"kith/core/job"
)

// maxParams bounds the params of a job, in bytes as they were sent.
const maxParams = 64 << 10

// ParseExport reads the body of POST /export (reference, 1.9).
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

// ParseJobInput reads a GraphQL JobInput, as JSON, in which errors name their
// keys below at (spec, Job input).
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
		err = core.Invalid(at+".fileRef", "has no meaning for this type of job")
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
	// format is what the key of the format is called.
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

// params keeps the object as it was sent, but for nulls: it is answered so
// (reference, 1.9).
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

func anyText(_, s string) (string, error) { return s, nil }

// setParsed stores a string in its own type; null leaves what is there.
func setParsed[T any](r *reader, key string, v *fastjson.Value, into *T, parse func(field, s string) (T, error)) bool {
	var t *T
	parsed(r, key, v, &t, parse)
	if t != nil {
		*into = *t
	}
	return true
}

// Upload writes the answer of POST /export/upload (spec, Bulk import, 1).
func Upload(ref core.FileRef) []byte {
	w := writer{}
	w.open()
	w.text("fileRef", string(ref))
	w.close()
	return w.b
}

// Export writes a REST export (reference, 1.9).
func Export(j job.Job, now core.Time) []byte { return appendExport(nil, j, now) }

// Exports writes GET /export/history/list: {data, count, totalCount}.
func Exports(page []job.Job, total int, now core.Time) []byte {
	w := writer{}
	w.open()
	w.number("count", int64(len(page)))
	w.number("totalCount", int64(total))
	w.key("data")
	w.b = list(w.b, len(page), func(b []byte, i int) []byte { return appendExport(b, page[i], now) })
	w.close()
	return w.b
}

func appendExport(b []byte, j job.Job, now core.Time) []byte {
	w := writer{b: b}
	w.open()
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
	w.close()
	return w.b
}

// JobEvent writes a job as webhooks tell of it: export.created,
// export.completed and job.completed (reference, 6).
func JobEvent(j job.Job) []byte {
	w := writer{}
	w.open()
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
	w.close()
	return w.b
}

func (w *writer) stats(s job.Stats) {
	w.object("stats", func() {
		w.number("recordsProcessed", s.Processed)
		w.number("errors", s.Errors)
	})
}

// FileType is the media type of a file by its name.
func FileType(name string) string {
	switch {
	case strings.HasSuffix(name, ".csv"):
		return "text/csv; charset=utf-8"
	case strings.HasSuffix(name, ".xlsx"):
		return "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	}
	return "application/octet-stream"
}
