package wire

import (
	"strconv"
	"time"

	"github.com/tidwall/gjson"
	"github.com/valyala/fastjson"

	"kith/core"
	"kith/core/job"
	"kith/core/referral"
)

// maxEventKeys bounds the keys that an export of events may name.
const maxEventKeys = 100

// ParseJobParams reads the params of a job. Errors name their keys below
// "params".
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

// export takes the params of a job that writes a file.
func (p *paramParser) export(r *reader, key string, v *fastjson.Value) bool {
	switch key {
	case "createdSince":
		return date(r, key, v, &p.out.Created.From)
	case "createdBefore":
		return date(r, key, v, &p.out.Created.Before)
	case "updatedSince":
		return date(r, key, v, &p.out.Updated.From)
	case "updatedBefore":
		return date(r, key, v, &p.out.Updated.Before)
	case "createdOrUpdatedSince":
		return date(r, key, v, &p.out.Changed.From)
	case "createdOrUpdatedBefore":
		return date(r, key, v, &p.out.Changed.Before)
	case "programId":
		return setParsed(r, key, v, &p.out.Program, core.ParseProgramKey)
	case "dateFormat":
		return setParsed(r, key, v, &p.out.Dates, job.ParseDates)
	case "filter":
		return r.nested(key, v, p.filter)
	case "fields":
		return r.nested(key, v, columnGroup)
	}
	return false
}

// columnGroup takes a key of the param "fields" (reference, 1.9 and 3.1). Which
// columns each adds is nowhere told; all columns are always there.
func columnGroup(r *reader, key string, v *fastjson.Value) bool {
	switch key {
	case "includeUserStatsFields", "includeUserFields", "includeReferralFields",
		"includeProgramShareLinksAndReferralCodes", "includeSegments":
		var b *bool
		return r.boolean(&b, key, v)
	}
	return false
}

// filter takes what narrows an export (reference, 3.1). What is not offered is
// refused: an export that says nothing of what it left out would be trusted.
func (p *paramParser) filter(r *reader, key string, v *fastjson.Value) bool {
	switch {
	case p.job == job.UserEvent && key == "key_eq":
		var s *string
		if r.text(&s, key, v); s != nil {
			p.out.EventKeys = append(p.out.EventKeys, *s)
		}
		return true
	case p.job == job.UserEvent && key == "key_in":
		return r.items(key, v, maxEventKeys, func(i int, v *fastjson.Value) error {
			s, err := textItem(element(r.path(key), i), v)
			p.out.EventKeys = append(p.out.EventKeys, s)
			return err
		})
	case p.job == job.RedeemableRewardBalance && key == "unit_eq":
		return setParsed(r, key, v, &p.out.Unit, anyText)
	}
	return false
}

// load takes the params of a job that reads a file.
func (p *paramParser) load(r *reader, key string, v *fastjson.Value) bool {
	switch {
	case key == "importEvaluationOptions":
		return r.nested(key, v, p.evaluation)
	case key == "maxErrors":
		var most *int64
		if r.integer(&most, key, v, 1); most != nil {
			if *most > job.MostMaxErrors {
				return r.fail(core.Invalid(r.path(key), "must be "+strconv.Itoa(job.MostMaxErrors)+" or less"))
			}
			p.out.MaxErrors = *most
		}
		return true
	case key == "segments" && p.job == job.ImportUser:
		return r.items(key, v, referral.MaxSegments, func(i int, v *fastjson.Value) error {
			s, err := textItem(element(r.path(key), i), v)
			p.out.Segments = append(p.out.Segments, s)
			return err
		})
	case key == "programId" && p.job == job.ImportUser:
		return setParsed(r, key, v, &p.out.Program, core.ParseProgramKey)
	case key == "preserveEmptyAccounts" && p.job == job.ImportDelete:
		return r.boolean(&p.out.PreserveEmptyAccounts, key, v)
	case key == "doNotTrack" && p.job == job.ImportDelete:
		return r.boolean(&p.out.DoNotTrack, key, v)
	}
	return false
}

// evaluation takes what an import may set off besides storing its rows.
func (p *paramParser) evaluation(r *reader, key string, v *fastjson.Value) bool {
	var b *bool
	switch key {
	case "webhooks":
		r.boolean(&b, key, v)
		p.out.Silent = b != nil && !*b
		return true
	case "programs", "analytics":
		if r.boolean(&b, key, v); b != nil && !*b {
			return r.fail(core.Invalid(r.path(key), "cannot be turned off: a row does what a call does"))
		}
		return true
	}
	return false
}

// date reads a time in epoch milliseconds, or as text in RFC 3339 with any
// offset, as the Singer tap sends it (reference, 7.3); its start date, which a
// person wrote, may lack the zone, or be a day. Then it is in UTC.
func date(r *reader, key string, v *fastjson.Value, into *core.Time) bool {
	if v.Type() != fastjson.TypeString {
		var n *int64
		r.integer(&n, key, v, 0)
		if n != nil {
			*into = core.Time(*n)
		}
		return true
	}
	for _, layout := range [...]string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", time.DateOnly} {
		if t, err := time.Parse(layout, string(v.GetStringBytes())); err == nil && t.UnixMilli() >= 0 {
			*into = core.Time(t.UnixMilli())
			return true
		}
	}
	return r.fail(core.Invalid(r.path(key), "must be a time in epoch milliseconds, or as text such as 2026-03-01, 2026-03-01T09:00:00 (UTC) or 2026-03-01T09:00:00+01:00"))
}

// withoutNulls returns params without the keys that are null, which say nothing;
// others are as they were written.
func withoutNulls(params string) string {
	w := writer{}
	w.open()
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
	w.close()
	return string(w.b)
}
