package jobs

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"strconv"
	"strings"

	"kith/backend/store/jobdb"
	"kith/core"
	"kith/core/exportfile"
	"kith/core/importfile"
	"kith/core/job"
	"kith/core/wire"
)

// source is an upload that is being read.
type source struct {
	*importfile.Reader
	format importfile.Format
	// layout has the columns of a CSV file.
	layout  importfile.Layout
	close   func() error
	dialect importfile.Dialect
	// byRecord is true if rows have the numbers of records; see job.Job.Row.
	byRecord bool
}

// input is an upload that is to be read for a job.
type input struct {
	tenant core.TenantAlias
	typ    job.Type
	ref    core.FileRef
	// columns is the mapping of the job, or nil.
	columns importfile.Mapping
	// from is where to begin.
	from importfile.Place
	// renew is called regularly while a part of the file is skipped. It may be nil if from is
	// the beginning.
	renew func() error
}

// openSource opens an upload at a place in its uncompressed bytes. One in a gzip file is reached
// by decompressing all bytes before it.
func (js *Jobs) openSource(ctx context.Context, in input) (*source, error) {
	s := &source{format: importfile.FormatOf(string(in.ref), nil), byRecord: in.from.Position > 0 && in.from.Row == 0}
	if s.format == importfile.CSV {
		if err := js.readHeader(ctx, s, in); err != nil || in.from.Position == 0 {
			return s, err
		}
		_ = s.close()
	}
	return s, js.openAt(ctx, s, in)
}

// readHeader opens a CSV file at its beginning and reads its header.
func (js *Jobs) readHeader(ctx context.Context, s *source, in input) error {
	in.from = importfile.Place{}
	if err := js.openAt(ctx, s, in); err != nil {
		return err
	}
	line, err := s.Line()
	if err == io.EOF {
		err = importfile.Problem{Reason: "the file is empty"}
	}
	var names []string
	if err == nil {
		names, err = s.Cells(line)
	}
	if err == nil {
		var problems []importfile.Problem
		s.layout, problems = importfile.ParseHeader(in.typ, names, in.columns)
		s.layout.Separator = s.dialect.Separator
		if len(problems) > 0 {
			err = headerProblems(problems)
		}
	}
	if err != nil {
		_ = s.close()
	}
	return err
}

// headerProblems are the problems of a CSV file's header.
type headerProblems []importfile.Problem

// Error joins the texts of the first 10 problems.
func (h headerProblems) Error() string {
	const limit = 10
	var texts []string
	for _, p := range h[:min(len(h), limit)] {
		texts = append(texts, p.Error())
	}
	if len(h) > limit {
		texts = append(texts, "and "+strconv.Itoa(len(h)-limit)+" more")
	}
	return strings.Join(texts, "; ")
}

// openAt opens an upload at a position; see openSource.
func (js *Jobs) openAt(ctx context.Context, s *source, in input) error {
	f, err := js.upload(ctx, in.tenant, in.ref)
	if err != nil {
		return err
	}
	s.dialect = importfile.ParseDialect(f.Dialect)
	compressed := strings.HasSuffix(string(in.ref), importfile.GzipEnding)
	from := in.from.Position
	if compressed {
		from = 0
	}
	body, err := js.Files.Store.Open(ctx, in.ref, from)
	if err != nil {
		return err
	}
	s.close = body.Close
	text := io.Reader(body)
	if compressed {
		if text, err = newGunzip(body, js.Files.maxFile(), in.from.Position, in.renew); err != nil {
			_ = body.Close()
			return err
		}
	}
	s.Reader = importfile.NewReader(s.format, text, in.from)
	return nil
}

var errNoUpload = &core.Error{Code: core.CodeNotFound, Field: "fileRef", Message: "there is no such file; an upload that no job reads is kept for a day"}

// upload returns a file that the tenant uploaded, or a not-found error about "fileRef".
func (js *Jobs) upload(ctx context.Context, tenant core.TenantAlias, ref core.FileRef) (jobdb.File, error) {
	f, ok, err := jobdb.FindFile(ctx, js.DB.Reads, tenant, ref)
	if err == nil && (!ok || f.Size < 0 || f.Expires <= js.Now()) {
		err = errNoUpload
	}
	return f, err
}

// gunzip decompresses a gzip file, up to limit bytes: a small file can decompress to a
// very large one.
type gunzip struct {
	from *gzip.Reader
	// left is the number of bytes that may still be read.
	left, limit int64
}

// newGunzip returns a reader of the decompressed bytes after the first skip ones. It calls
// renew after each renewBytes that it skips.
func newGunzip(from io.Reader, limit, skip int64, renew func() error) (io.Reader, error) {
	zip, err := gzip.NewReader(from)
	if err != nil {
		return nil, gzipError(err)
	}
	g := &gunzip{from: zip, left: limit, limit: limit}
	for skip > 0 {
		n, err := io.CopyN(io.Discard, g, min(skip, renewBytes))
		if err == nil {
			err = renew()
		}
		if err != nil {
			return nil, err
		}
		skip -= n
	}
	return g, nil
}

func (g *gunzip) Read(p []byte) (int, error) {
	n, err := g.from.Read(p)
	if g.left -= int64(n); g.left < 0 {
		return 0, importfile.Problem{Reason: "the file decompresses to more than " + strconv.FormatInt(g.limit, 10) + " bytes; divide it into several files"}
	}
	return n, gzipError(err)
}

// gzipError returns a problem of the file if err says that it is corrupt, or else err.
func gzipError(err error) error {
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, io.ErrUnexpectedEOF) {
		return importfile.Problem{Reason: "corrupt gzip; compress and upload the file again"}
	}
	return err
}

// number returns the number of the row that Line returned last, for people.
func (s *source) number() int64 {
	if s.byRecord {
		return s.Record()
	}
	return s.Place().Row
}

// row returns the next record. problem is an error of this row alone.
func (s *source) row() (row wire.Row, problem error, err error) {
	line, err := s.Line()
	if err != nil {
		return row, nil, err
	}
	if s.format == importfile.JSONL {
		return wire.LineRow(line), nil, nil
	}
	cells, err := s.Cells(line)
	if err != nil {
		return row, nil, err
	}
	for i := range cells {
		cells[i] = exportfile.Plain(cells[i])
	}
	cells, unreadable := s.layout.Row(cells)
	if cells != nil {
		row = wire.CellsRow(s.layout, cells)
	}
	if unreadable != nil {
		return row, unreadable, nil
	}
	return row, nil, nil
}
