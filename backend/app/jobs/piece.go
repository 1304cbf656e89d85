package jobs

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	"kith/backend/app/base"
	"kith/backend/sheet"
	"kith/backend/store"
	"kith/backend/store/jobdb"
	"kith/core"
)

// A browser sends a large file in pieces, because the edge has each request in memory and
// accepts 8 MiB by default. A piece is a file of its own, which is removed after a day. Join
// makes the upload of them.
const (
	// MaxPiece is the size of a piece at most, in bytes.
	MaxPiece = 16 << 20
	// MaxPieces is the number of pieces of a file at most.
	MaxPieces = 1000
	// joinWait is how long Join waits for the file. Joining continues in the background
	// then, for joinTimeout at most.
	joinWait    = 4 * time.Second
	joinTimeout = 10 * time.Minute
)

// AddPiece stores a piece of a file, and returns its reference for Join.
func (fs *Files) AddPiece(ctx context.Context, tenant core.TenantAlias, body io.Reader) (ref core.FileRef, err error) {
	defer func() { err = whileFull(err) }()
	f, err := fs.createFile(ctx, tenant, pieceKind, "piece", "part", 0)
	if err != nil {
		return "", err
	}
	defer f.Abort()
	n, err := io.Copy(f, io.LimitReader(body, MaxPiece+1))
	switch {
	case err != nil:
		return "", err
	case n == 0:
		return "", core.Invalid("file", "is empty")
	case n > MaxPiece:
		return "", sheet.TooLarge(MaxPiece)
	}
	return f.ref, f.Close()
}

// Join stores the file that consists of pieces, in their order, and returns its reference;
// see Upload. After joinWait it returns although the file is not complete yet; Stored
// reports when it is.
func (fs *Files) Join(ctx context.Context, tenant core.TenantAlias, name string, pieces []core.FileRef) (ref core.FileRef, err error) {
	defer func() { err = whileFull(err) }()
	size, err := fs.checkPieces(ctx, tenant, pieces)
	if err != nil {
		return "", err
	}
	// The file is completed even if the caller disconnects.
	background, cancel := context.WithTimeout(context.WithoutCancel(ctx), joinTimeout)
	in := &joined{ctx: background, files: fs, pieces: pieces}
	whole := uploadKind
	whole.replaced = size
	from, err := sheet.Open(name, in, fs.maxFile())
	var f *newFile
	if err == nil {
		f, err = fs.begin(background, tenant, name, from, whole, size)
	}
	if err != nil {
		in.close()
		cancel()
		if base.IsConflict(err) {
			// The pieces would take the room of other files for a day.
			err = errors.Join(err, fs.expire(ctx, tenant, pieces...))
		}
		return "", err
	}
	done := make(chan error, 1)
	go func() {
		defer cancel()
		defer in.close()
		done <- fs.join(background, f, from, pieces)
	}()
	select {
	case err = <-done:
	case <-time.After(joinWait):
	}
	return f.ref, err
}

// join writes a file from its pieces, and removes the pieces, or the file if that failed.
func (fs *Files) join(ctx context.Context, f *newFile, from *sheet.File, pieces []core.FileRef) error {
	defer f.Abort()
	if err := f.receive(from); err != nil {
		return err
	}
	return fs.expire(ctx, f.tenant, pieces...)
}

// checkPieces returns the size of all pieces, and an error unless they are pieces of the tenant
// that are complete, and not larger than a file may be.
func (fs *Files) checkPieces(ctx context.Context, tenant core.TenantAlias, pieces []core.FileRef) (size int64, err error) {
	if len(pieces) == 0 || len(pieces) > MaxPieces {
		return 0, core.Invalid("pieces", "must be 1 to "+strconv.Itoa(MaxPieces)+" pieces; send the file in larger pieces")
	}
	for _, ref := range pieces {
		f, ok, err := jobdb.FindFile(ctx, fs.DB.Reads, tenant, ref)
		if err != nil {
			return 0, err
		}
		if !ok || f.Size < 0 || f.Expires <= fs.Now() || !strings.HasPrefix(string(ref), core.PieceFolder+"/") {
			return 0, core.Invalid("pieces", "has a piece that is not kept any more; send the file again")
		}
		size += f.Size
	}
	if size > fs.maxFile() {
		return 0, sheet.TooLarge(fs.maxFile())
	}
	return size, nil
}

// expire lets files that no job has read expire now.
func (fs *Files) expire(ctx context.Context, tenant core.TenantAlias, refs ...core.FileRef) error {
	return fs.DB.Write(ctx, fs.Now(), func(tx *store.Tx) error {
		for _, ref := range refs {
			if err := jobdb.ExpireFile(ctx, tx, tenant, ref); err != nil {
				return err
			}
		}
		return nil
	})
}

// Stored returns the size of an upload in bytes; complete is false while Join still writes
// it. An upload that is unknown or has expired is a not-found error about "fileRef".
func (fs *Files) Stored(ctx context.Context, tenant core.TenantAlias, ref core.FileRef) (size int64, complete bool, err error) {
	f, ok, err := jobdb.FindFile(ctx, fs.DB.Reads, tenant, ref)
	if err == nil && (!ok || f.Expires <= fs.Now()) {
		err = errNoUpload
	}
	return f.Size, f.Size >= 0, err
}

// joined reads pieces, one after the other.
type joined struct {
	ctx    context.Context
	files  *Files
	pieces []core.FileRef
	open   io.ReadCloser
}

func (j *joined) Read(p []byte) (int, error) {
	for {
		if j.open == nil {
			if len(j.pieces) == 0 {
				return 0, io.EOF
			}
			var err error
			if j.open, err = j.files.Store.Open(j.ctx, j.pieces[0], 0); err != nil {
				return 0, err
			}
			j.pieces = j.pieces[1:]
		}
		n, err := j.open.Read(p)
		if err == io.EOF {
			j.close()
			err = nil
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

func (j *joined) close() {
	if j.open != nil {
		_ = j.open.Close() // it was only read
		j.open = nil
	}
}
