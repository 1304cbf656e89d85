package files

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"kith/backend/app/base"
	"kith/backend/app/jobs"
	"kith/backend/portal/frame"
	"kith/core"
	"kith/core/importfile"
	"kith/core/job"
	"kith/core/wire"
)

// importForm is the data of the page on which a file is chosen.
type importForm struct {
	*frame.Form
	Kinds []kind
	// Chosen is the task of the chosen kind.
	Chosen string
}

func showImport(v *frame.Visit, f *frame.Form) error {
	chosen := cmp.Or(f.Value("type"), imports[0].Task())
	return v.Page(f.Status(), "import", "Import a file", importForm{Form: f, Kinds: imports, Chosen: chosen})
}

// sampleRows is the number of rows of a sample file.
const sampleRows = 3

// downloadSample writes a file that can be imported as it is.
func downloadSample(v *frame.Visit) error {
	k, err := kindIn(imports, v.R.PathValue("task"))
	if err != nil {
		return core.NotFound("There is no such sample file.")
	}
	return v.Download("sample_"+strings.ToLower(k.Task())+".csv", "text/csv; charset=utf-8", func(w *bufio.Writer) error {
		out := csv.NewWriter(w)
		_ = out.Write(importfile.SampleColumns(k.Type))
		for n := range int64(sampleRows) {
			_ = out.Write(importfile.SampleRow(k.Type, n))
		}
		out.Flush()
		return out.Error()
	})
}

var importLabels = map[string]string{"type": "What the file has", "file": "The file"}

// refuseImport shows what is wrong with a file that was sent.
func refuseImport(v *frame.Visit, err error) error {
	return v.NewForm().Again(v, ofForm(err), importLabels, showImport)
}

// upload receives a file as a form that a browser sends without scripts.
func upload(v *frame.Visit) error {
	for {
		part, err := v.NextPart()
		if err != nil {
			return refuseImport(v, err)
		}
		if part.FormName() != "file" {
			text, err := frame.PartText(part)
			if err != nil {
				return refuseImport(v, err)
			}
			v.R.PostForm.Set(part.FormName(), text)
			continue
		}
		k, err := kindIn(imports, v.R.PostForm.Get("type"))
		if err != nil {
			return refuseImport(v, err)
		}
		if part.FileName() == "" {
			return refuseImport(v, core.Invalid("file", "is missing; choose a file"))
		}
		ref, err := v.Engine.Files.Upload(v.Ctx(), v.Caller.Tenant, part.FileName(), part)
		if err != nil {
			return refuseImport(v, err)
		}
		return v.Redirect(checkPath(v, k, ref, part.FileName()))
	}
}

// addPiece receives a piece of a file from the script of the page, and answers with its
// reference.
func addPiece(v *frame.Visit) error {
	ref, err := v.Engine.Files.AddPiece(v.Ctx(), v.Caller.Tenant, v.R.Body)
	if base.IsConflict(err) {
		var known *core.Error
		_ = errors.As(err, &known) // it is a conflict
		return frame.Plain(v, wire.Status(core.CodeConflict), frame.Sentence(known.Message))
	}
	if err != nil {
		return err
	}
	return frame.Plain(v, http.StatusOK, string(ref))
}

// join makes a file of the pieces that addPiece has received.
func join(v *frame.Visit) error {
	f := v.NewForm()
	k, err := kindIn(imports, f.Value("type"))
	if err != nil {
		return refuseImport(v, err)
	}
	var pieces []core.FileRef
	for _, ref := range strings.Fields(f.Value("pieces")) {
		pieces = append(pieces, core.FileRef(ref))
	}
	ref, err := v.Engine.Files.Join(v.Ctx(), v.Caller.Tenant, f.Value("name"), pieces)
	if err != nil {
		return refuseImport(v, err)
	}
	return v.Redirect(checkPath(v, k, ref, f.Value("name")))
}

func checkPath(v *frame.Visit, k kind, ref core.FileRef, name string) string {
	return v.SectionPath() + "/check?" + url.Values{"type": {k.Task()}, "file": {string(ref)}, "name": {fileName(name)}}.Encode()
}

// fileName returns the name of a file without its folder, shortened.
func fileName(name string) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	if len(name) > 100 {
		name = strings.ToValidUTF8(name[:100], "") + "…"
	}
	return name
}

// checked is the data of the page that shows what an import would do.
type checked struct {
	*frame.Form
	jobs.Checked
	Kind kind
	Ref  core.FileRef
	Name string
	// Once makes that a form which is sent twice starts one import.
	Once string
	Size int64
	// Joining is true while the file is still being put together.
	Joining bool
	// Good is the number of rows that can be imported.
	Good int64
	// Ask is the choice of what the columns are.
	Ask asked

	section string
}

// CheckPath is the path to which the choice of columns is sent.
func (c checked) CheckPath() string { return c.section + "/check" }

// ReadAs says how the file was read, if it was converted.
func (c checked) ReadAs() string {
	if c.Dialect.Plain() {
		return ""
	}
	return c.Dialect.Words()
}

// Header returns the name in the file of one of Kith's columns, or "" if it is the same.
func (c checked) Header(column string) string {
	name, chosen := c.Columns[column]
	if i := slices.Index(importfile.Meanings(c.Kind.Type, c.Names), column); !chosen && i >= 0 {
		name = c.Names[i]
	}
	if name == column {
		return ""
	}
	return name
}

// GuessedID returns the column that is proposed as the id of account and user, because none of
// the file is known to be one, or "".
func (c checked) GuessedID() string {
	ids := importfile.UserColumns(c.Kind.Type)
	if name := c.Columns[ids[0]]; c.Guessed && name == c.Columns[ids[1]] {
		return name
	}
	return ""
}

// TooMany returns the most columns that can be chosen if the file has more, or 0.
func (c checked) TooMany() int {
	if len(c.Names) > maxAsked {
		return maxAsked
	}
	return 0
}

// Undated reports whether the file has events and no column with their dates.
func (c checked) Undated() bool {
	const date = "event.dateTriggered"
	return c.Kind.Type == job.ImportUserEvent && len(c.Names) > 0 && !slices.Contains(c.Names, date) && c.Header(date) == ""
}

// Danger reports whether the import deletes data.
func (c checked) Danger() bool { return c.Kind.Type == job.ImportDelete }

// maxQuery is the most bytes of the choice of columns in an address: proxies refuse longer ones.
const maxQuery = 4000

// chooseColumns shows what an import with the chosen columns would do, under an address of its
// own, unless the choice is too long for one.
func chooseColumns(v *frame.Visit) error {
	chosen := maps.Clone(v.R.PostForm)
	chosen.Del(frame.CSRFField)
	chosen.Del("once")
	if query := chosen.Encode(); len(query) <= maxQuery {
		return v.Redirect(v.SectionPath() + "/check?" + query)
	}
	return showCheck(v, v.NewForm())
}

func showCheck(v *frame.Visit, f *frame.Form) error {
	data, err := chosenFile(v, f)
	if err != nil {
		return lost(err)
	}
	size, complete, err := v.Engine.Files.Stored(v.Ctx(), v.Caller.Tenant, data.Ref)
	if err != nil {
		return lost(err)
	}
	data.Form, data.Size, data.Joining, data.section, data.Once = f, size, !complete, v.SectionPath(), v.Once(f)
	if complete {
		if data.Checked, err = v.Engine.Admin.Files.Check(v.Ctx(), v.Caller, data.Kind.Type, data.Ref, chosenColumns(f, data.Kind.Type)); err != nil {
			return lost(err)
		}
		data.Ask = askedOf(data.Kind.Type, data.Checked)
		data.Good = data.Checked.Checked - data.Rejected
		data.Ask.Question = data.Ask.Question || data.Good == 0
	}
	return v.Page(f.Status(), "check", "Check the file", data)
}

// chosenFile returns the file and the kind that a page or a form names.
func chosenFile(v *frame.Visit, f *frame.Form) (c checked, err error) {
	if c.Kind, err = kindIn(imports, f.Value("type")); err == nil {
		c.Ref, err = core.ParseFileRef("file", v.Caller.Tenant, f.Value("file"))
	}
	if c.Name = fileName(f.Value("name")); c.Name == "" {
		c.Name = c.Ref.Name()
	}
	return c, err
}

// lost replaces the error of a file that is not there by what to do.
func lost(err error) error {
	var e *core.Error
	if errors.As(err, &e) && (e.Code == core.CodeNotFound || e.Code == core.CodeInvalid) {
		return core.NotFound("This file is not kept any more, or it did not arrive completely. Choose it again under Imports and exports, Import a file.")
	}
	return err
}

// startImport starts the import of a checked file.
func startImport(v *frame.Visit) error {
	f := v.NewForm()
	c, err := chosenFile(v, f)
	if err != nil {
		return lost(err)
	}
	params := map[string]any{}
	if f.Value("silent") != "" {
		params["importEvaluationOptions"] = map[string]any{"webhooks": false}
	}
	if most := strings.TrimSpace(f.Value("maxErrors")); most != "" {
		n, err := strconv.ParseInt(strings.ReplaceAll(most, ",", ""), 10, 64)
		if err != nil {
			f.Refuse(core.Invalid("maxErrors", "must be a number such as 100"), optionLabels)
			return showCheck(v, f)
		}
		params["maxErrors"] = n
	}
	if columns := chosenColumns(f, c.Kind.Type); len(columns) > 0 || columns != nil && f.Value("ask") != "" {
		params["columns"] = columns
	}
	in := job.Input{Type: c.Kind.Type, Name: c.Name, Format: job.CSV, File: c.Ref, Params: encode(params), Once: v.Once(f)}
	before, err := v.Engine.Jobs.ImportedBefore(v.Ctx(), v.Caller.Tenant, in.Type, in.File)
	if err != nil {
		return err
	}
	if before != f.Value("before") && before != in.Once {
		// Another window, or another member, has imported it since this page was opened.
		f.Refuse(&core.Error{Code: core.CodeConflict, Message: "the same content was imported since this page was opened, and this import was not started: start it again only if the rows are to be imported twice"}, nil)
		return showCheck(v, f)
	}
	_, err = v.Engine.Admin.Files.Import(v.Ctx(), v.Caller, in)
	if err = v.Twice(err); err != nil {
		if !f.Refuse(ofForm(err), optionLabels) {
			return lost(err)
		}
		return showCheck(v, f)
	}
	return v.Redirect(pathOf(v.Caller.Tenant, in.Once))
}

var optionLabels = map[string]string{"maxErrors": "The number of rejected rows"}

// encode returns params of a job as JSON.
func encode(params map[string]any) string {
	text, err := json.Marshal(params)
	if err != nil {
		panic(err) // they are texts and numbers
	}
	return string(text)
}
