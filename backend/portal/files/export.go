package files

import (
	"net/http"
	"strings"

	"kith/backend/portal/frame"
	"kith/core"
	"kith/core/job"
	"kith/core/operation"
)

// exportKinds lists what can be exported.
func exportKinds(v *frame.Visit) error {
	if err := operation.StartExport.Require(v.Caller); err != nil {
		return err
	}
	return v.Page(http.StatusOK, "exports", "Export", exports)
}

// exportForm is the data of the page on which an export is started.
type exportForm struct {
	*frame.Form
	Kind                     kind
	Once                     string
	Programs, Formats, Dates []frame.Option
}

func showExport(v *frame.Visit, f *frame.Form) error {
	if err := operation.StartExport.Require(v.Caller); err != nil {
		return err
	}
	k, err := kindIn(exports, v.R.PathValue("task"))
	if err != nil {
		return core.NotFound("There is no such export.")
	}
	data := exportForm{
		Form: f, Kind: k, Once: v.Once(f),
		Formats: frame.OptionsOf(f.Value("format"), string(job.XLSX), "Excel workbook (XLSX)", string(job.CSV), "CSV, for all programs"),
		Dates:   frame.OptionsOf(f.Value("dates"), string(job.DatesLocal), "2026-01-31 10:30:00 in your time zone, for spreadsheets", string(job.DatesISO), "2026-01-31T09:30:00Z, for programs", string(job.DatesMillis), "milliseconds since 1970, as older integrations read them"),
	}
	if k.ByProgram {
		all, err := v.Engine.Programs.List(v.Ctx(), v.Caller.Tenant)
		if err != nil {
			return err
		}
		data.Programs = frame.OptionsOf(f.Value("program"), "", "all programs")
		for _, p := range all {
			data.Programs = append(data.Programs, frame.Option{Value: string(p.Key), Label: p.Name, Chosen: string(p.Key) == f.Value("program")})
		}
	}
	return v.Page(f.Status(), "export", "Export: "+k.Title, data)
}

var exportLabels = map[string]string{
	"from": "The first day", "to": "The last day", "event": "The event", "unit": "The unit", "program": "The program", "format": "The format",
	"dates": "The form of dates",
}

// exportInput reads the form of an export.
func exportInput(f *frame.Form, k kind) (in job.Input, err error) {
	params := map[string]any{}
	span, err := frame.Days(f.Value("from"), f.Value("to"), frame.Zone(f.Value("zone")))
	if err != nil {
		return in, err
	}
	if span.From != 0 {
		params["createdSince"] = int64(span.From)
	}
	if span.Before != 0 {
		params["createdBefore"] = int64(span.Before)
	}
	if span.From != 0 && span.Before != 0 && span.From >= span.Before {
		return in, core.Invalid("to", "must not be before the first day; exchange the two days")
	}
	if program := f.Value("program"); program != "" && k.ByProgram {
		params["programId"] = program
	}
	if dates := f.Value("dates"); dates != "" {
		params["dateFormat"] = dates
		if zone := f.Value("zone"); zone != "" && dates == string(job.DatesLocal) {
			params["timeZone"] = zone
		}
	}
	if key := strings.TrimSpace(f.Value("event")); key != "" && k.ByEvent {
		params["filter"] = map[string]any{"key_eq": key}
	}
	if unit := strings.TrimSpace(f.Value("unit")); unit != "" && k.ByUnit {
		params["filter"] = map[string]any{"unit_eq": unit}
	}
	format, err := job.ParseFormat("format", f.Value("format"))
	return job.Input{Type: k.Type, Format: format, Params: encode(params)}, err
}

func startExport(v *frame.Visit) error {
	f := v.NewForm()
	k, err := kindIn(exports, v.R.PathValue("task"))
	if err != nil {
		return core.NotFound("There is no such export.")
	}
	in, err := exportInput(f, k)
	in.Once = v.Once(f)
	if err == nil {
		_, err = v.Engine.Admin.Files.Export(v.Ctx(), v.Caller, in)
	}
	if err = v.Twice(err); err != nil {
		return f.Again(v, ofForm(err), exportLabels, showExport)
	}
	return v.Redirect(pathOf(v.Caller.Tenant, in.Once))
}
