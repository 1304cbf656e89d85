package jobs

import (
	"context"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"kith/core"
	"kith/core/exportfile"
	"kith/core/importfile"
	"kith/core/job"
)

// rejectedShown is the number of rows that Rejected returns at most.
const rejectedShown = 20

// Rejected returns the first rows that an import has rejected, with the reasons that its
// errors file has. There are none if it has no such file, or one that is a workbook.
func (js *Jobs) Rejected(ctx context.Context, tenant core.TenantAlias, id string) ([]importfile.Problem, error) {
	file, err := js.errorsOf(ctx, tenant, id)
	if file == nil || err != nil {
		return nil, err
	}
	defer file.close()
	var all []importfile.Problem
	for len(all) < rejectedShown {
		p, err := file.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return all, err
		}
		all = append(all, p)
	}
	return all, nil
}

// RejectedName returns the name of the file that WriteRejected writes.
func RejectedName(j job.Job) string {
	return strings.ToLower(j.Type.Task()) + "_" + string(job.RejectedFile) + "_" + j.ID + "." + string(importfile.FormatOf(string(j.File), nil))
}

// WriteRejected writes the rows that an import of a CSV or JSONL file has rejected, in the
// form of that file, so that they can be corrected and imported. In a CSV file the column
// importfile.ProblemColumn says what is wrong with each. The error is not-found if the
// import has rejected no rows, or if its files have expired.
func (js *Jobs) WriteRejected(ctx context.Context, tenant core.TenantAlias, id string, out io.Writer) error {
	j, err := js.ByID(ctx, tenant, id)
	if err != nil {
		return err
	}
	wrong, err := js.errorsOf(ctx, tenant, id)
	if err == nil && wrong == nil {
		err = core.NotFound("this import has no file of rejected rows as CSV")
	}
	if err != nil {
		return err
	}
	defer wrong.close()
	in, err := js.openSource(ctx, tenant, j.Type, j.File, 0, 0, nil)
	if err != nil {
		return err
	}
	defer in.close()
	to := &rejectedWriter{out: out, from: in, rows: csv.NewWriter(out)}
	if err := to.header(); err != nil {
		return err
	}
	for ctx.Err() == nil {
		p, err := wrong.next()
		if err == io.EOF {
			to.rows.Flush()
			return to.rows.Error()
		}
		if err == nil {
			err = to.write(p)
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// rejectedWriter writes rows of a file that are rejected.
type rejectedWriter struct {
	out  io.Writer
	from *source
	rows *csv.Writer
}

func (w *rejectedWriter) header() error {
	if w.from.format == importfile.JSONL {
		return nil
	}
	var names []string
	for _, c := range w.from.layout.Columns {
		names = append(names, c.Name())
	}
	if i := slices.Index(names, importfile.ProblemColumn); i >= 0 {
		names = slices.Delete(names, i, i+1)
	}
	return w.rows.Write(append(names, importfile.ProblemColumn))
}

// write reads the file up to the row of a problem, and writes that row.
func (w *rejectedWriter) write(p importfile.Problem) error {
	for {
		line, err := w.from.Line()
		if err != nil {
			return unexpected(err)
		}
		if w.from.Record() < p.Record {
			continue
		}
		if w.from.format == importfile.JSONL {
			_, err := w.out.Write(append(slices.Clone(line), '\n'))
			return err
		}
		cells, err := w.from.Cells(line)
		if err != nil {
			return err
		}
		return w.rows.Write(w.cells(cells, p))
	}
}

// cells returns the cells of a row with its problem. A row with too few cells gets empty
// ones, so that the problem is in its column.
func (w *rejectedWriter) cells(from []string, p importfile.Problem) []string {
	columns := w.from.layout.Columns
	row := make([]string, 0, len(columns)+1)
	for i, cell := range from {
		if i < len(columns) && columns[i].Name() == importfile.ProblemColumn {
			continue // of the import before
		}
		row = append(row, exportfile.Harmless(exportfile.Plain(cell)))
	}
	for i := len(from); i < len(columns); i++ {
		if columns[i].Name() != importfile.ProblemColumn {
			row = append(row, "")
		}
	}
	p.Record = 0 // its number in the new file is another one
	return append(row, exportfile.Harmless(p.Error()))
}

func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// errorsReader reads the errors file of an import.
type errorsReader struct {
	rows  *csv.Reader
	close func() error
}

// errorsOf opens the errors file of an import. It returns nil if there is none, or if it is
// not a CSV file.
func (js *Jobs) errorsOf(ctx context.Context, tenant core.TenantAlias, id string) (*errorsReader, error) {
	d, err := js.Download(ctx, tenant, id, job.ErrorsFile)
	var e *core.Error
	if errors.As(err, &e) && e.Code == core.CodeNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	body, err := d.Open(ctx, 0)
	if err != nil {
		return nil, err
	}
	r := &errorsReader{rows: csv.NewReader(body), close: body.Close}
	r.rows.ReuseRecord = true
	if _, err := r.rows.Read(); !strings.HasSuffix(d.Name, ".csv") || err != nil {
		_ = r.close() // it was only read
		return nil, nil
	}
	return r, nil
}

// next returns the next rejected row, or io.EOF.
func (r *errorsReader) next() (p importfile.Problem, err error) {
	row, err := r.rows.Read()
	if err != nil {
		return p, err
	}
	if p.Record, err = strconv.ParseInt(row[0], 10, 64); err != nil {
		return p, err
	}
	p.Reason = exportfile.Plain(row[1])
	// An error about a column begins with its name.
	if column, reason, ok := strings.Cut(p.Reason, ": "); ok && !strings.ContainsAny(column, " \t") {
		p.Column, p.Reason = column, reason
	}
	return p, nil
}
