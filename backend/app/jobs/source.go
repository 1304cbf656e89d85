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
	// layout is what the columns of a CSV file are.
	layout importfile.Layout
	close  func() error
}

// openSource opens an upload at a place in its unpacked bytes, after so many
// records. A file that cannot be read as what it is, or is not there, is aborted. To
// get to a place in a packed file all before it is unpacked, and alive is called now
// and then meanwhile; it may be nil for position 0.
func (js *Jobs) openSource(ctx context.Context, tenant core.TenantAlias, t job.Type, ref core.FileRef, position, record int64, alive func() error) (*source, error) {
	s := &source{format: importfile.FormatOf(string(ref), nil)}
	if s.format == importfile.CSV {
		if err := js.readHeader(ctx, s, tenant, t, ref); err != nil || position == 0 {
			return s, err
		}
		_ = s.close()
	}
	return s, js.openAt(ctx, s, tenant, ref, position, record, alive)
}

// readHeader opens a file at its beginning and reads the columns of it.
func (js *Jobs) readHeader(ctx context.Context, s *source, tenant core.TenantAlias, t job.Type, ref core.FileRef) error {
	if err := js.openAt(ctx, s, tenant, ref, 0, 0, nil); err != nil {
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
	var problems []importfile.Problem
	if err == nil {
		s.layout, problems = importfile.ParseHeader(t, names)
		err = headerError(problems)
	}
	if err != nil {
		_ = s.close()
	}
	return err
}

// headerProblems are all that is wrong with the columns of a file.
type headerProblems []importfile.Problem

func headerError(problems []importfile.Problem) error {
	if len(problems) == 0 {
		return nil
	}
	return headerProblems(problems)
}

// Error joins the first few of them.
func (h headerProblems) Error() string {
	const most = 10
	var texts []string
	for _, p := range h[:min(len(h), most)] {
		texts = append(texts, p.Error())
	}
	if len(h) > most {
		texts = append(texts, "and "+strconv.Itoa(len(h)-most)+" more")
	}
	return strings.Join(texts, "; ")
}

func (js *Jobs) openAt(ctx context.Context, s *source, tenant core.TenantAlias, ref core.FileRef, position, record int64, alive func() error) error {
	if _, err := js.upload(ctx, tenant, ref); err != nil {
		return err
	}
	packed := strings.HasSuffix(string(ref), importfile.GzipEnding)
	from := position
	if packed {
		from = 0
	}
	body, err := js.Files.Store.Open(ctx, ref, from)
	if err != nil {
		return err
	}
	s.close = body.Close
	in := io.Reader(body)
	if packed {
		if in, err = unpack(body, js.Files.maxFile(), position, alive); err != nil {
			_ = body.Close()
			return err
		}
	}
	s.Reader = importfile.NewReader(s.format, in, position, record)
	return nil
}

// upload returns what is known of a file that the tenant uploaded, or an error
// about "fileRef".
func (js *Jobs) upload(ctx context.Context, tenant core.TenantAlias, ref core.FileRef) (size int64, err error) {
	f, ok, err := jobdb.FindFile(ctx, js.DB.Reads, tenant, ref)
	if err == nil && (!ok || f.Size < 0 || f.Expires <= js.Now()) {
		err = &core.Error{Code: core.CodeNotFound, Field: "fileRef", Message: "there is no such file; uploads are kept for 28 days"}
	}
	return f.Size, err
}

// unpacked reads what gzip packed, up to a bound: a small file may hold a very
// large one.
type unpacked struct {
	from *gzip.Reader
	left int64
	most int64
}

func unpack(from io.Reader, most, skip int64, alive func() error) (io.Reader, error) {
	zip, err := gzip.NewReader(from)
	if err != nil {
		return nil, damaged(err)
	}
	u := &unpacked{from: zip, left: most, most: most}
	for skip > 0 {
		n, err := io.CopyN(io.Discard, u, min(skip, aliveBytes))
		if err == nil {
			err = alive()
		}
		if err != nil {
			return nil, err
		}
		skip -= n
	}
	return u, nil
}

func (u *unpacked) Read(p []byte) (int, error) {
	n, err := u.from.Read(p)
	if u.left -= int64(n); u.left < 0 {
		return 0, importfile.Problem{Reason: "the file unpacks to more than " + strconv.FormatInt(u.most, 10) + " bytes"}
	}
	return n, damaged(err)
}

// damaged tells a file that is not what gzip wrote from one that could not be
// read.
func damaged(err error) error {
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, io.ErrUnexpectedEOF) {
		return importfile.Problem{Reason: "the file is damaged: it is not what gzip packed"}
	}
	return err
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
	if problem := s.layout.CheckRow(cells); problem != nil {
		return row, problem, nil
	}
	for i := range cells {
		cells[i] = exportfile.Plain(cells[i])
	}
	return wire.CellsRow(s.layout, cells), nil, nil
}
