package jobs

import (
	"context"
	"encoding/csv"
	"io"
	"slices"
	"strconv"
	"strings"

	"kith/backend/app/base"
	"kith/backend/xlsx"
	"kith/core"
	"kith/core/exportfile"
	"kith/core/importfile"
	"kith/core/job"
	"kith/core/wire"
)

// rejectedShown is the number of rows that Rejected returns at most.
const rejectedShown = 20

// Rejected returns the first rows that an import has rejected, with the reasons that its
// errors file has. There are none if it has no such file, or one that is a workbook. Columns have
// the names of the imported file, if that is still there.
func (js *Jobs) Rejected(ctx context.Context, tenant core.TenantAlias, id string) ([]importfile.Problem, error) {
	file, err := js.errorsOf(ctx, tenant, id)
	if file == nil || err != nil {
		return nil, err
	}
	defer file.close()
	j, err := js.ByID(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	var layout importfile.Layout
	if in, err := js.openImported(ctx, tenant, j); err == nil {
		layout = in.layout
		_ = in.close() // it was only read
	}
	var all []importfile.Problem
	for len(all) < rejectedShown {
		p, err := file.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return all, err
		}
		p.Column = layout.Heading(p.Column)
		all = append(all, p)
	}
	return all, nil
}

// openImported opens the file of an import at its beginning.
func (js *Jobs) openImported(ctx context.Context, tenant core.TenantAlias, j job.Job) (*source, error) {
	params, err := wire.ParseJobParams(j.Type, j.Params)
	if err != nil {
		return nil, err
	}
	return js.openSource(ctx, input{tenant: tenant, typ: j.Type, ref: j.File, columns: params.Columns})
}

// RejectedName returns the name of the file that WriteRejected writes.
func RejectedName(j job.Job, d importfile.Dialect) string {
	extension := string(importfile.FormatOf(string(j.File), nil))
	if d.Workbook() {
		extension = job.XLSX.Extension()
	}
	return strings.ToLower(j.Type.Task()) + "_" + string(job.RejectedFile) + "_" + j.ID + "." + extension
}

// WriteRejected writes the rows that an import has rejected, in the form of its file, so that
// they can be corrected and imported: with its columns and its separator, or as a workbook. The
// column importfile.ProblemColumn says what is wrong with each, except in a JSONL file. The
// error is not-found if the import has rejected no rows, or if its files have expired.
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
	in, err := js.openImported(ctx, tenant, j)
	if err != nil {
		return err
	}
	defer in.close()
	in.byRecord = j.Row == 0
	to := &rejectedWriter{out: out, from: in}
	if err := to.begin(); err != nil {
		return err
	}
	for ctx.Err() == nil {
		p, err := wrong.next()
		if err == io.EOF {
			return to.close()
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
	// writeRow writes a row, and close the end of the file.
	writeRow func([]string) error
	close    func() error
}

// begin writes the header.
func (w *rejectedWriter) begin() (err error) {
	w.close = func() error { return nil }
	if w.from.format == importfile.JSONL {
		return nil
	}
	names := slices.DeleteFunc(slices.Clone(w.from.layout.Names), func(name string) bool { return name == importfile.ProblemColumn })
	names = append(names, importfile.ProblemColumn)
	if w.from.dialect.Workbook() {
		rows, err := xlsx.New(job.XLSX, w.out, names)
		if err != nil {
			return err
		}
		w.writeRow, w.close = rows.Write, rows.Close
		return nil
	}
	if !w.from.dialect.Plain() {
		if _, err := io.WriteString(w.out, exportfile.Mark); err != nil {
			return err
		}
	}
	rows := csv.NewWriter(w.out)
	if separator := w.from.dialect.Separator; separator != "" {
		rows.Comma = rune(separator[0])
	}
	w.close = func() error {
		rows.Flush()
		return rows.Error()
	}
	w.writeRow = func(row []string) error {
		for i, cell := range row {
			row[i] = exportfile.Harmless(cell)
		}
		return rows.Write(row)
	}
	return rows.Write(names)
}

// write reads the file up to the row of a problem, and writes that row.
func (w *rejectedWriter) write(p importfile.Problem) error {
	for {
		line, err := w.from.Line()
		if err == io.EOF {
			return io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
		if w.from.number() < p.Row {
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
		return w.writeRow(w.cells(cells, p))
	}
}

// cells returns the cells of a row with its problem. A row with too few cells gets empty
// ones, so that the problem is in its column.
func (w *rejectedWriter) cells(from []string, p importfile.Problem) []string {
	names := w.from.layout.Names
	row := make([]string, 0, len(names)+1)
	for i, name := range names {
		switch {
		case name == importfile.ProblemColumn: // of the import before
		case i < len(from):
			row = append(row, exportfile.Plain(from[i]))
		default:
			row = append(row, "")
		}
	}
	p.Row, p.Column = 0, w.from.layout.Heading(p.Column) // its number in the new file is another one
	row = append(row, p.Error())
	for i := len(names); i < len(from); i++ {
		if from[i] != "" {
			row = append(row, exportfile.Plain(from[i]))
		}
	}
	return row
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
	if base.IsNotFound(err) {
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
	if p.Row, err = strconv.ParseInt(row[0], 10, 64); err != nil {
		return p, err
	}
	p.Reason = exportfile.Plain(row[1])
	// An error about a column begins with its name.
	if column, reason, ok := strings.Cut(p.Reason, ": "); ok && !strings.ContainsAny(column, " \t") {
		p.Column, p.Reason = column, reason
	}
	return p, nil
}
