package main

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"kith/backend/client"
	"kith/backend/progress"
	"kith/core"
	"kith/core/importfile"
	"kith/core/job"
	"kith/core/wire"
)

type importCommand struct {
	File   string `arg:"" help:"CSV, XLSX or JSONL file, gzipped or not. The separator of a CSV file may be a comma, a semicolon or a tab."`
	Type   string `required:"" help:"What each row does: MUTATION/USER, MUTATION/DELETE_USER, MUTATION/USER_EVENT or MUTATION/REDEEMABLE_REWARD_BALANCE." placeholder:"TYPE"`
	Tenant string `required:"" env:"KITH_TENANT" help:"Alias of the tenant." placeholder:"ALIAS"`
	Key    string `required:"" env:"KITH_KEY" help:"API key of the tenant." placeholder:"KEY"`
	URL    string `env:"KITH_URL" default:"http://127.0.0.1:8080" help:"URL of the backend. An edge accepts small files only."`
	Format string `default:"CSV" enum:"CSV,XLSX" help:"Format of the result files: ${enum}."`
	Params string `help:"Parameters of the job, as a JSON object. In columns, names of columns have the headers of the file; other columns are then ignored." placeholder:"JSON"`
	Result string `help:"File to write the results of the rows to. Default: none; the results can be fetched for 28 days." placeholder:"FILE"`
	Errors string `help:"File to write the number and the reason of each failed row to. Default: a file next to the imported one." placeholder:"FILE"`
	Force  bool   `help:"Import even if the validation finds rows that will fail."`
}

// exitStatus is an error with the exit status of the command.
type exitStatus struct {
	status int
	reason string
}

func (e exitStatus) Error() string { return e.reason }

// Statuses of kith import, besides 0.
const (
	exitRowsFailed = 1
	exitRefused    = 2
)

// Run uploads the file, validates it, creates the job and waits for its end.
func (c *importCommand) Run(e *env) error {
	err := c.run(e)
	var status exitStatus
	if err != nil && !errors.As(err, &status) {
		return exitStatus{exitRefused, message(unanswered(err))}
	}
	return err
}

func (c *importCommand) run(e *env) error {
	in, err := c.input()
	if err = errors.Join(err, checkURL("url", c.URL), checkNewFile("errors", c.Errors, "errors.csv"), checkNewFile("result", c.Result, "result.csv")); err != nil {
		return err
	}
	show := progress.New(e.out)
	defer show.End()
	to := &client.Client{URL: c.URL, Tenant: core.TenantAlias(c.Tenant), Key: c.Key}
	rows, err := c.upload(e, to, show, &in)
	if err != nil {
		return err
	}
	problems, err := to.Validate(e.ctx, in)
	if err != nil {
		return err
	}
	if len(problems) > 0 && !c.Force {
		show.End()
		remedy := "--force imports the valid rows"
		if slices.ContainsFunc(problems, func(p string) bool { return !strings.HasPrefix(p, "row ") }) {
			remedy = "correct the file" // which is refused as a whole
		}
		return exitStatus{exitRefused, "nothing was imported; " + remedy + ":\n  " + strings.Join(problems, "\n  ")}
	}
	made, err := to.CreateJob(e.ctx, in)
	if err != nil {
		return err
	}
	show.Say("job " + made.ID)
	done, err := c.follow(e, to, show, made, rows)
	if err != nil {
		return err
	}
	show.End()
	return c.finish(e, to, done)
}

func (c *importCommand) input() (client.Input, error) {
	t, err := parseImport(c.Type)
	in := client.Input{Type: t, Name: filepath.Base(c.File), OutputFormat: job.Format(c.Format)}
	if err == nil && c.Params != "" {
		if in.Params = json.RawMessage(c.Params); !json.Valid(in.Params) {
			err = core.Invalid("params", "must be JSON")
		}
	}
	return in, err
}

// upload sends the file and returns its number of rows, or 0 if that is unknown.
func (c *importCommand) upload(e *env, to *client.Client, show *progress.Display, in *client.Input) (rows int64, err error) {
	file, err := openFile("file", c.File)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	show.Begin("upload", "bytes", info.Size())
	sent := int64(0)
	in.FileRef, err = to.Upload(e.ctx, filepath.Base(c.File), countingReader{file, func(n int) {
		sent += int64(n)
		show.At(sent)
	}})
	if err != nil {
		return 0, err
	}
	show.At(info.Size())
	return countRows(c.File), nil
}

// countRows returns the number of rows of a file, for the progress only; 0 if the file
// cannot be read.
func countRows(path string) int64 {
	file, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer file.Close()
	in := bufio.NewReaderSize(file, 64<<10)
	beginning, _ := in.Peek(4 << 10)
	var from io.Reader = in
	if strings.HasPrefix(string(beginning), "PK") {
		return 0 // a workbook
	}
	if importfile.Packed(beginning) {
		if from, err = gzip.NewReader(in); err != nil {
			return 0
		}
	}
	r := importfile.NewReader(importfile.FormatOf(path, beginning), from, importfile.Place{})
	for {
		if _, err := r.Line(); err != nil {
			return max(0, r.Record())
		}
	}
}

type countingReader struct {
	from io.Reader
	read func(n int)
}

func (c countingReader) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.read(n)
	return n, err
}

// followEvery is how often the status of a job is fetched.
const followEvery = 500 * time.Millisecond

// follow waits for the job to end.
func (c *importCommand) follow(e *env, to *client.Client, show *progress.Display, j client.Job, rows int64) (client.Job, error) {
	show.Begin("import", "rows", rows)
	noted := ""
	for {
		if j.Status == job.Pending && j.Message != noted {
			if noted = j.Message; noted != "" {
				show.Note(noted)
			}
		}
		show.At(j.Stats.RecordsProcessed)
		if j.Status != job.Pending {
			return j, nil
		}
		select {
		case <-e.ctx.Done():
			return j, exitStatus{exitRefused, "interrupted; the job continues: " + j.ID}
		case <-time.After(followEvery):
		}
		next, err := to.Job(e.ctx, j.ID)
		var refused *client.Refused
		if errors.As(err, &refused) || e.ctx.Err() != nil {
			return j, err
		}
		if err != nil {
			// The service may be restarting, which does not affect the job.
			e.log.Warn("the service does not answer; retrying", "error", err)
			continue
		}
		j = next
	}
}

// finish prints how the job ended, and fetches its files.
func (c *importCommand) finish(e *env, to *client.Client, j client.Job) error {
	if j.Status != job.Completed {
		return exitStatus{exitRefused, "the job was aborted: " + j.Message}
	}
	fmt.Fprintf(e.out, "%s imported, %d failed\n", core.Count(j.Stats.RecordsProcessed-j.Stats.Errors, "row"), j.Stats.Errors)
	if j.Message != "" {
		fmt.Fprintln(e.out, j.Message)
	}
	if c.Result != "" {
		if err := c.fetch(e, to, j, job.ResultFile, c.Result); err != nil {
			return err
		}
	}
	if j.Stats.Errors == 0 {
		return nil
	}
	path := cmp.Or(c.Errors, c.File+".errors."+strings.ToLower(c.Format))
	if err := c.fetch(e, to, j, job.ErrorsFile, path); err != nil {
		return err
	}
	return exitStatus{exitRowsFailed, core.Count(j.Stats.Errors, "row") + " failed; see " + path + " for the reasons"}
}

func (c *importCommand) fetch(e *env, to *client.Client, j client.Job, which job.Attachment, path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	err = to.Download(e.ctx, j.ID, which, file)
	return errors.Join(err, file.Close())
}

type sampleCommand struct {
	Type   string `required:"" help:"What each row does: MUTATION/USER, MUTATION/DELETE_USER, MUTATION/USER_EVENT or MUTATION/REDEEMABLE_REWARD_BALANCE." placeholder:"TYPE"`
	Rows   int64  `default:"1000" help:"Number of rows."`
	From   int64  `help:"Number of the first row. The same number always gives the same row; rows of all types name the same users."`
	Format string `default:"csv" enum:"csv,jsonl" help:"Format of the file: ${enum}."`
	Out    string `short:"o" help:"File to write. Default: the standard output." placeholder:"FILE"`
}

// Run writes a file of generated rows.
func (c *sampleCommand) Run(e *env) (err error) {
	t, err := parseImport(c.Type)
	switch {
	case err != nil:
		return err
	case c.Rows < 0:
		return core.Invalid("rows", "must be 0 or more")
	case c.From < 0:
		return core.Invalid("from", "must be 0 or more")
	}
	out := e.out
	if c.Out != "" {
		file, err := os.Create(c.Out)
		if err != nil {
			return err
		}
		defer func() {
			if closeErr := file.Close(); err == nil {
				err = closeErr
			}
		}()
		out = file
	}
	buffered := bufio.NewWriterSize(out, 64<<10)
	write := c.csv
	if c.Format == string(importfile.JSONL) {
		write = c.jsonl
	}
	if err := write(t, buffered); err != nil {
		return err
	}
	return buffered.Flush()
}

func (c *sampleCommand) csv(t job.Type, to io.Writer) error {
	w := csv.NewWriter(to)
	_ = w.Write(importfile.SampleColumns(t))
	for n := range c.Rows {
		if err := w.Write(importfile.SampleRow(t, c.From+n)); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

func (c *sampleCommand) jsonl(t job.Type, to io.Writer) error {
	layout, _ := importfile.ParseHeader(t, importfile.SampleColumns(t), nil)
	var line []byte
	for n := range c.Rows {
		line = append(wire.CellsRow(layout, importfile.SampleRow(t, c.From+n)).AppendJSON(line[:0]), '\n')
		if _, err := to.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// parseImport parses the type of a job that imports a file.
func parseImport(s string) (job.Type, error) {
	imports := slices.DeleteFunc(job.Types(), func(t job.Type) bool { return !t.Import() })
	if t, ok := core.OneOf(s, imports...); ok {
		return t, nil
	}
	var names []string
	for _, t := range imports {
		names = append(names, string(t))
	}
	return "", core.Invalid("type", "must be one of "+strings.Join(names, ", ")+", not "+strconv.Quote(s))
}
