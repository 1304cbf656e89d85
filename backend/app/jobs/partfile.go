package jobs

import (
	"bytes"
	"compress/flate"
	"context"
	"io"
	"strings"
	"time"

	"kith/backend/store"
	"kith/backend/store/jobdb"
	"kith/backend/xlsx"
	"kith/core"
	"kith/core/exportfile"
)

const (
	// someParts is how many parts are in memory at a time.
	someParts = 8
	// awaiting is after how long a worker who waits for a file thinks of its lease.
	awaiting = 100 * time.Millisecond
)

// partFile is a file that is made out of the parts of an import, while they come.
type partFile struct {
	claim  jobdb.Lease
	name   string
	header []string
	of     func(jobdb.Chunk) []byte
	// came is told of each part, and closed after the last.
	came chan struct{}
	made chan madeFile
	stop context.CancelFunc
	// cut is true, once the file was made, when it does not have the rows of all parts.
	cut bool
}

type madeFile struct {
	ref core.FileRef
	err error
}

// resultFile begins the result file of an import.
func (r *run) resultFile(ctx context.Context) *partFile {
	return r.newFile(ctx, "result", exportfile.Header(r.claim.Type), func(p jobdb.Chunk) []byte { return p.Result })
}

// errorsFile begins the file of what went wrong.
func (r *run) errorsFile(ctx context.Context) *partFile {
	return r.newFile(ctx, "errors", exportfile.ErrorsHeader(), func(p jobdb.Chunk) []byte { return p.Errors })
}

// newFile begins a file. One of end and drop must follow.
func (r *run) newFile(ctx context.Context, name string, header []string, of func(jobdb.Chunk) []byte) *partFile {
	ctx, stop := context.WithCancel(ctx)
	f := &partFile{
		claim: *r.claim, name: strings.ToLower(r.claim.Type.Task()) + "_" + name, header: header, of: of,
		came: make(chan struct{}, 1), made: make(chan madeFile, 1), stop: stop,
	}
	go func() {
		ref, err := f.make(ctx, r.jobs)
		f.made <- madeFile{ref, err}
	}()
	return f
}

// more says that parts have come.
func (f *partFile) more() {
	select {
	case f.came <- struct{}{}:
	default: // it knows, and has not looked yet
	}
}

// drop ends a file that nobody wants any more.
func (f *partFile) drop() {
	f.stop()
	<-f.made
}

// end says that no part comes any more, waits for the file, and shows meanwhile
// that the worker lives.
func (f *partFile) end(ctx context.Context, r *run) (core.FileRef, error) {
	defer f.stop()
	close(f.came)
	for {
		select {
		case made := <-f.made:
			return made.ref, made.err
		case <-time.After(awaiting):
			if err := r.alive(ctx); err != nil {
				f.drop()
				return "", err
			}
		}
	}
}

func (f *partFile) make(ctx context.Context, js *Jobs) (core.FileRef, error) {
	to, err := js.Files.createFile(ctx, f.claim.Tenant, core.ExportFolder, f.name, f.claim.Format.Extension())
	if err != nil {
		return "", err
	}
	defer to.Abort()
	rows, err := xlsx.New(f.claim.Format, to, f.header)
	if err != nil {
		return "", err
	}
	if err := f.copy(ctx, js.DB, rows, js.Files.maxFile()); err != nil {
		return "", err
	}
	if err := rows.Close(); err != nil {
		return "", err
	}
	return to.ref, to.Close()
}

// countedReader counts the bytes that were read.
type countedReader struct {
	io.Reader
	n int64
}

func (r *countedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.n += int64(n)
	return n, err
}

// copy adds the rows of all parts, until no more come, up to about most bytes: a
// small file may be about users of whom much is stored.
func (f *partFile) copy(ctx context.Context, db *store.Primary, to xlsx.Writer, most int64) error {
	behind, ended := int64(0), false
	for {
		parts, err := jobdb.Chunks(ctx, db.Reads, f.claim.Tenant, f.claim.ID, behind, someParts)
		if err != nil {
			return err
		}
		for _, p := range parts {
			if packed := f.of(p); len(packed) > 0 && most > 0 {
				from := &countedReader{Reader: flate.NewReader(bytes.NewReader(packed))}
				if err := to.Copy(from); err != nil {
					return err
				}
				most -= from.n
			} else if len(packed) > 0 {
				f.cut = true
			}
			behind = p.Seq
		}
		switch {
		case len(parts) == someParts:
			continue
		case ended:
			return nil
		}
		// What came before the end is read once more.
		select {
		case _, more := <-f.came:
			ended = !more
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
