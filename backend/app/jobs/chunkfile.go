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
)

const (
	// chunksAtOnce is the number of chunks that are in memory at a time.
	chunksAtOnce = 8
	// renewalCheck is the interval at which a worker that waits for a file checks
	// whether its lease must be renewed.
	renewalCheck = 100 * time.Millisecond
)

// chunkFile is a result file or errors file of an import. A goroutine writes it from the
// chunks in the database while batches add more chunks.
type chunkFile struct {
	lease  jobdb.Lease
	name   string
	header []string
	// content returns the part of a chunk that belongs to the file.
	content func(jobdb.Chunk) []byte
	// added receives a signal when chunks were added, and is closed after the last one.
	added chan struct{}
	done  chan writtenFile
	stop  context.CancelFunc
	// cut is true if the file does not have the rows of all chunks. It is set before
	// done.
	cut bool
	// limit is the most bytes of rows, once they are written.
	limit int64
}

// writtenFile is the result of writing a chunkFile.
type writtenFile struct {
	ref core.FileRef
	err error
}

// newFile begins a file of the part of each chunk that content returns. The caller must
// call end or drop.
func (r *run) newFile(ctx context.Context, name string, header []string, content func(jobdb.Chunk) []byte) *chunkFile {
	ctx, stop := context.WithCancel(ctx)
	f := &chunkFile{
		lease: *r.lease, name: strings.ToLower(r.lease.Type.Task()) + "_" + name, header: header, content: content,
		added: make(chan struct{}, 1), done: make(chan writtenFile, 1), stop: stop,
	}
	go func() {
		ref, err := f.write(ctx, r.jobs)
		f.done <- writtenFile{ref, err}
	}()
	return f
}

// more signals that chunks were added.
func (f *chunkFile) more() {
	select {
	case f.added <- struct{}{}:
	default: // the last signal was not yet received
	}
}

// drop stops writing the file, and waits until that has ended.
func (f *chunkFile) drop() {
	f.stop()
	<-f.done
}

// end is called after the last chunk was added. It waits for the file, and renews the
// lease of the job meanwhile.
func (f *chunkFile) end(ctx context.Context, r *run) (core.FileRef, error) {
	defer f.stop()
	close(f.added)
	for {
		select {
		case written := <-f.done:
			return written.ref, written.err
		case <-time.After(renewalCheck):
			if err := r.renewIfDue(ctx); err != nil {
				f.drop()
				return "", err
			}
		}
	}
}

// write creates and writes the file until end was called and all chunks are in it.
func (f *chunkFile) write(ctx context.Context, js *Jobs) (core.FileRef, error) {
	to, err := js.Files.createFile(ctx, f.lease.Tenant, resultKind, f.name, f.lease.Format.Extension(), 0)
	if err != nil {
		return "", err
	}
	defer to.Abort()
	rows, err := xlsx.New(f.lease.Format, to, f.header)
	if err != nil {
		return "", err
	}
	held, err := jobdb.StoredBytes(ctx, js.DB.Reads, f.lease.Tenant, js.Now())
	if err != nil {
		return "", err
	}
	if err := f.copy(ctx, js.DB, rows, min(js.Files.maxFile(), js.Files.maxStorage()-held)); err != nil {
		return "", err
	}
	if err := rows.Close(); err != nil {
		return "", err
	}
	return to.ref, to.Close()
}

// countedReader counts the bytes that are read through it.
type countedReader struct {
	io.Reader
	n int64
}

func (r *countedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.n += int64(n)
	return n, err
}

// copy writes the rows of all chunks, up to about limit bytes: a small upload can name
// many users of whom much is stored. A limit of 0 or less permits none.
func (f *chunkFile) copy(ctx context.Context, db *store.Primary, to xlsx.Writer, limit int64) error {
	f.limit = max(limit, 0)
	last, ended := int64(0), false
	for {
		chunks, err := jobdb.Chunks(ctx, db.Reads, f.lease.Tenant, f.lease.ID, last, chunksAtOnce)
		if err != nil {
			return err
		}
		for _, c := range chunks {
			if compressed := f.content(c); len(compressed) > 0 && limit > 0 {
				from := &countedReader{Reader: flate.NewReader(bytes.NewReader(compressed))}
				if err := to.Copy(from); err != nil {
					return err
				}
				limit -= from.n
			} else if len(compressed) > 0 {
				f.cut = true
			}
			last = c.Seq
		}
		switch {
		case len(chunks) == chunksAtOnce:
			continue
		case ended:
			return nil
		}
		// After the end, read once more: chunks may have been added since the last read.
		select {
		case _, more := <-f.added:
			ended = !more
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
