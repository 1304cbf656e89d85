package jobs

import (
	"cmp"
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"kith/backend/store/jobdb"
	"kith/core"
	"kith/core/importfile"
	"kith/core/job"
	"kith/core/wire"
)

const (
	// validatedBytes is the number of uncompressed bytes of a file that are validated, and
	// validatedTime how long that may take. They are bounded because a caller waits for the
	// result, and the edge for 10 seconds at most.
	validatedBytes = 64 << 20
	validatedTime  = 4 * time.Second
	timedRows      = 256
	// MaxProblems is the number of row problems that the API reports at most.
	MaxProblems = 100
)

// validate returns the problems of the file as a whole, for which its job would be
// aborted, and those of single rows.
func (js *Jobs) validate(ctx context.Context, tenant core.TenantAlias, in job.Input) (file, rows []string, err error) {
	p, err := wire.ParseJobParams(in.Type, in.Params)
	if err != nil {
		return nil, nil, err
	}
	c, err := js.Check(ctx, tenant, in.Type, in.File, p.Columns, MaxProblems)
	return texts(c.File), texts(c.Rows), err
}

func texts(problems []importfile.Problem) (all []string) {
	for _, p := range problems {
		all = append(all, p.Error())
	}
	return all
}

// Checked is what Check found in an import file.
type Checked struct {
	// File has the problems of the file as a whole, for which its job would be aborted.
	File []importfile.Problem
	// Rows has the first problems of rows, one for each row that would be rejected.
	Rows []importfile.Problem
	// Checked is the number of rows that were checked, and Rejected how many of them would
	// be rejected.
	Checked, Rejected int64
	// Cut is the number of rows that redeem a fraction, which is cut off, and CutExample what
	// one of them has.
	Cut        int64
	CutExample string
	// Repeated are codes of a CSV file that two users have, and Unused the names of events that
	// no program uses: the first ones.
	Repeated []Repeated
	Unused   []string
	// Complete is true if all rows were checked.
	Complete bool
	// Dialect is the form in which the file came.
	Dialect importfile.Dialect
	// Western is a value of a text in Windows-1252 that shows whether it is one: texts in other
	// encodings, such as those of Japanese or Arabic programs, look the same.
	Western string
	// Names is the header of a CSV file, and Samples has its first rows. Unknown are the names
	// that have no meaning, so that their columns are not imported.
	Names   []string
	Samples [][]string
	Unknown []string
	// Columns is the mapping with which it was checked, or nil. Remembered is true if it was
	// chosen for an earlier file with this header, and Guessed if it is a guess.
	Columns             importfile.Mapping
	Remembered, Guessed bool
	// Before is the job of ImportedBefore.
	Before string
}

// ImportedBefore returns the latest job that imported the content of a file as a type, or "".
func (js *Jobs) ImportedBefore(ctx context.Context, tenant core.TenantAlias, t job.Type, ref core.FileRef) (string, error) {
	return jobdb.SameImport(ctx, js.DB.Reads, tenant, job.Job{Input: job.Input{Type: t, File: ref}, Created: js.Now()})
}

// samples is the number of rows that Checked has.
const samples = 3

// Texts returns the problems as texts, those of rows first.
func (c Checked) Texts() []string { return append(texts(c.Rows), texts(c.File)...) }

// Check reads an import file as its job would, without changing anything. It counts all
// problems of its first 64 MiB, for 4 seconds at most, and returns the first ones of rows, up
// to most. A row without a problem may still be rejected later, for what the database has by
// then, such as a code of another user. columns is the mapping of the import, or nil.
func (js *Jobs) Check(ctx context.Context, tenant core.TenantAlias, t job.Type, ref core.FileRef, columns importfile.Mapping, most int) (c Checked, err error) {
	c.Columns = columns
	if c.Before, err = js.ImportedBefore(ctx, tenant, t, ref); err != nil {
		return c, err
	}
	in := input{tenant: tenant, typ: t, ref: ref, columns: columns}
	s, err := js.openSource(ctx, in)
	if s != nil {
		c.Dialect, c.Names, c.Unknown = s.dialect, s.layout.Names, s.layout.Unknown
	}
	if err != nil {
		if c.File, err = problemsOf(err); err == nil && c.Names != nil {
			c.Samples, err = js.sample(ctx, in)
		}
		return c, err
	}
	defer s.close()
	if c.Names != nil {
		if c.Samples, err = js.sample(ctx, in); err != nil {
			return c, err
		}
	}
	known, err := js.notices(ctx, tenant, t, s.layout)
	if err != nil {
		return c, err
	}
	deadline, now := time.Now().Add(validatedTime), js.Now()
	for s.Position() < validatedBytes && ctx.Err() == nil {
		// The clock is read once for many rows.
		if s.Record()%timedRows == 0 && time.Now().After(deadline) {
			break
		}
		row, problem, err := s.row()
		if err == io.EOF {
			c.Complete = true
			break
		}
		if err != nil {
			c.File, err = problemsOf(err)
			return c, err
		}
		c.Checked = s.Record()
		if c.Dialect.Encoding == importfile.Windows1252 && c.Western == "" {
			c.Western = importfile.ShortValue(row.BeyondASCII())
		}
		if problem == nil {
			problem = wire.CheckImportRow(tenant, t, row, now)
		}
		if problem == nil {
			c.addCut(t, row)
			known.note(&c, t, s.number(), row)
			continue
		}
		if c.Rejected++; len(c.Rows) < most {
			c.Rows = append(c.Rows, rowProblem(s.number(), problem, row))
		}
	}
	if s.Record() <= 0 {
		c.File = append(c.File, importfile.Problem{Reason: "the file has no rows"})
	}
	return c, ctx.Err()
}

// addCut counts a row if a fraction of what it redeems is cut off (clients 3.3.5).
func (c *Checked) addCut(t job.Type, row wire.Row) {
	if t != job.ImportRedeem {
		return
	}
	amount := row.Value("valueToRedeem")
	if _, fraction, _ := strings.Cut(amount, "."); strings.Trim(fraction, "0 ") != "" && !strings.HasPrefix(amount, "-") {
		c.Cut++
		c.CutExample = cmp.Or(c.CutExample, importfile.ShortValue(amount+" "+row.Value("unit")))
	}
}

// rowProblem returns the problem of a row, with its column and value if err has one.
func rowProblem(number int64, err error, row wire.Row) importfile.Problem {
	p := importfile.Problem{Row: number, Reason: err.Error()}
	if e, ok := errors.AsType[*core.Error](err); ok {
		p.Column, p.Reason = e.Field, e.Message
		if p.Column != "" {
			p.Value = importfile.ShortValue(row.Value(p.Column))
		}
	}
	return p
}

// sample returns the cells of the first rows of a CSV file, shortened.
func (js *Jobs) sample(ctx context.Context, in input) (rows [][]string, err error) {
	s := &source{format: importfile.CSV}
	if err := js.openAt(ctx, s, in); err != nil {
		return nil, err
	}
	defer s.close()
	for len(rows) <= samples {
		line, err := s.Line()
		if err != nil {
			break // the check says what is wrong
		}
		cells, err := s.Cells(line)
		if err != nil {
			break
		}
		row := make([]string, len(cells))
		for i, cell := range cells {
			row[i] = importfile.ShortValue(cell)
		}
		rows = append(rows, row)
	}
	return rows[min(1, len(rows)):], nil
}

// problemsOf returns the problems of a file that err has, or err itself if the file could
// not be read.
func problemsOf(err error) ([]importfile.Problem, error) {
	if problem, ok := errors.AsType[importfile.Problem](err); ok {
		return []importfile.Problem{problem}, nil
	}
	if header, ok := errors.AsType[headerProblems](err); ok {
		return header, nil
	}
	return nil, err
}
