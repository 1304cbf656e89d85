package integrations

import (
	"errors"
	"strings"

	"kith/backend/app/pipelines"
	"kith/backend/portal/frame"
	"kith/core"
	"kith/core/operation"
	"kith/core/pipeline"
	"kith/core/referral"
	"kith/core/wire"
)

// pipelineForm is the data of the page of the pipeline.
type pipelineForm struct {
	*frame.Form
	// May and MaySecret are true if the caller may change the mapping, and make a secret.
	May       bool
	MaySecret bool
	Endpoint  string
	Secrets   pipelines.Secrets
	Overlaps  []frame.Option
	// Secret is a secret that was just made; the one before is valid until Until.
	Secret string
	Until  core.Time
	// Mapping has the values of the fields of the mapping.
	Mapping     map[string]string
	CreateUsers bool
	Others      []frame.Option
	// Seen is that of the mapping which the page shows; see frame.SeenOf.
	Seen string
}

// pipelineFields are the fields of the mapping with their labels.
var pipelineFields = map[string]string{
	"events": "The names of events", "fields": "The fields of events", "customFields": "The custom fields", "accountId": "The places of the account",
	"referralCode": "The places of the referral code", "statusTrait": "The trait of the status", "statuses": "The values of the status", "otherEvents": "Other events",
	"overlap": "The time for which the old secret stays valid", "password": "Your password",
}

func pipelinePage(v *frame.Visit, f *frame.Form) error {
	return showPipeline(v, pipelineForm{Form: f})
}

func showPipeline(v *frame.Visit, data pipelineForm) error {
	settings, err := v.Engine.Pipelines.Settings(v.Ctx(), v.Caller.Tenant)
	if err != nil {
		return err
	}
	if data.Secrets, err = v.Engine.Pipelines.Secrets(v.Ctx(), v.Caller.Tenant); err != nil {
		return err
	}
	data.May, data.MaySecret = v.May(operation.ChangePipeline), v.May(operation.RotatePipelineSecret)
	data.Overlaps = overlaps(data.Value("overlap"))
	data.Endpoint = v.Link("/api/v1/" + string(v.Caller.Tenant) + "/integration/segment")
	data.Mapping, data.CreateUsers = mappingTexts(settings), settings.CreateUsers
	data.Seen = frame.SeenOf(string(wire.PipelineSettings(settings)))
	others := "log"
	if settings.IgnoreOthers {
		others = "ignore"
	}
	if data.Failed() && v.R.PostForm.Has("otherEvents") {
		data.Seen = data.Value("seen")
		for name := range data.Mapping {
			data.Mapping[name] = data.Value(name)
		}
		data.CreateUsers, others = data.Value("createUsers") != "", data.Value("otherEvents")
	}
	data.Others = frame.OptionsOf(others, "log", "Log them under their own names", "ignore", "Ignore them")
	return v.Page(data.Status(), "pipeline", "Pipeline", data)
}

// mappingTexts returns the fields of the form of a mapping.
func mappingTexts(s pipeline.Settings) map[string]string {
	var events, fields, custom, statuses []string
	for _, n := range s.Events {
		events = append(events, n.Event+" = "+n.Key)
	}
	for _, f := range s.Fields {
		fields = append(fields, f.Name+" = "+pathTexts(f.From))
	}
	for _, c := range s.Custom {
		custom = append(custom, c.Name+" = "+string(c.From))
	}
	for _, of := range s.Statuses {
		statuses = append(statuses, of.Value+" = "+string(of.Status))
	}
	return map[string]string{
		"events": strings.Join(events, "\n"), "fields": strings.Join(fields, "\n"), "customFields": strings.Join(custom, "\n"),
		"accountId": pathTexts(s.Account), "referralCode": pathTexts(s.Code), "statusTrait": string(s.StatusTrait), "statuses": strings.Join(statuses, "\n"),
	}
}

func pathTexts(paths []pipeline.Path) string {
	texts := make([]string, len(paths))
	for i, p := range paths {
		texts[i] = string(p)
	}
	return strings.Join(texts, ", ")
}

// mappingOf reads the form of a mapping.
func mappingOf(f *frame.Form) (s pipeline.Settings, err error) {
	s.CreateUsers, s.IgnoreOthers = f.Value("createUsers") != "", f.Value("otherEvents") == "ignore"
	if s.Account, err = parsePaths("accountId", f.Value("accountId")); err != nil {
		return s, err
	}
	if s.Code, err = parsePaths("referralCode", f.Value("referralCode")); err != nil {
		return s, err
	}
	err = eachLine(f, "events", func(name, key string) error {
		s.Events = append(s.Events, pipeline.Name{Event: name, Key: key})
		return nil
	})
	if err != nil {
		return s, err
	}
	err = eachLine(f, "fields", func(name, from string) error {
		paths, err := parsePaths("fields", from)
		s.Fields = append(s.Fields, pipeline.Field{Name: name, From: paths})
		return err
	})
	if err != nil {
		return s, err
	}
	err = eachLine(f, "customFields", func(name, from string) error {
		p, err := pipeline.ParsePath("customFields", from)
		s.Custom = append(s.Custom, pipeline.Custom{Name: name, From: p})
		return err
	})
	if err != nil {
		return s, err
	}
	if trait := strings.TrimSpace(f.Value("statusTrait")); trait != "" {
		if s.StatusTrait, err = pipeline.ParsePath("statusTrait", trait); err != nil {
			return s, err
		}
	}
	err = eachLine(f, "statuses", func(value, text string) error {
		status, err := referral.ParseStatus("statuses", text)
		s.Statuses = append(s.Statuses, pipeline.StatusOf{Value: value, Status: status})
		return err
	})
	return s, err
}

// parsePaths reads paths that are separated by commas.
func parsePaths(field, text string) (paths []pipeline.Path, err error) {
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		p, err := pipeline.ParsePath(field, part)
		if err != nil {
			return nil, err
		}
		paths = append(paths, p)
	}
	if len(paths) > pipeline.MaxPaths {
		return nil, core.Invalid(field, "must be at most 5 places, separated by commas")
	}
	return paths, nil
}

// eachLine calls take with the two sides of each line NAME = VALUE of a field.
func eachLine(f *frame.Form, field string, take func(name, value string) error) error {
	seen := map[string]bool{}
	for line := range strings.SplitSeq(f.Value(field), "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return core.Invalid(field, "must have lines of the form NAME = VALUE; this one has not: "+line)
		}
		if seen[name] {
			return core.Invalid(field, "must have one line for "+name)
		}
		seen[name] = true
		if err := take(name, strings.TrimSpace(value)); err != nil {
			return err
		}
	}
	return nil
}

// inMapping returns an error of the API about the mapping as one about a field of the form.
func inMapping(err error) error {
	var known *core.Error
	if !errors.As(err, &known) {
		return err
	}
	inForm := *known
	inForm.Field, _, _ = strings.Cut(known.Field, ".")
	inForm.Field, _, _ = strings.Cut(inForm.Field, "[")
	if inForm.Field == "accountStatus" {
		inForm.Field = "statusTrait"
	}
	return &inForm
}

func changeMapping(v *frame.Visit) error {
	f := v.NewForm()
	s, err := mappingOf(f)
	if err == nil {
		err = v.Engine.Admin.Pipelines.Change(v.Ctx(), v.Caller, s, func(stored pipeline.Settings) error {
			return f.CheckSeen("the mapping", string(wire.PipelineSettings(stored)))
		})
	}
	if err == nil {
		return v.Done(path(v, "/pipeline"), "pipeline-mapping-saved")
	}
	return f.Again(v, inMapping(err), pipelineFields, pipelinePage)
}

// rotatePipelineSecret makes another secret and shows it, once.
func rotatePipelineSecret(v *frame.Visit) error {
	f := v.NewForm()
	var secret string
	var until core.Time
	old, err := overlap(f)
	if err == nil {
		err = frame.Confirmed(v, f, "password", func() (err error) {
			secret, until, err = v.Engine.Admin.Pipelines.RotateSecret(v.Ctx(), v.Caller, old)
			return err
		})
	}
	if err != nil {
		return f.Again(v, err, pipelineFields, pipelinePage)
	}
	return showPipeline(v, pipelineForm{Form: &frame.Form{}, Secret: secret, Until: until})
}

func removePipelineSecret(v *frame.Visit) error {
	if err := v.Engine.Admin.Pipelines.RemoveSecret(v.Ctx(), v.Caller); err != nil {
		return err
	}
	return v.Done(path(v, "/pipeline"), "pipeline-secret-ended")
}

// mappingField is a field of the mapping as the page shows it.
type mappingField struct {
	Name, Label, Hint, Value, Problem string
	Rows                              int
}

func newMappingField(data pipelineForm, name, label, hint string) mappingField {
	value := data.Mapping[name]
	return mappingField{name, label, hint, value, data.Problem(name), min(12, 2+strings.Count(value, "\n"))}
}
