package jobs

import (
	"cmp"
	"context"
	"io"

	"kith/backend/sheet"
	"kith/backend/store/jobdb"
	"kith/core"
	"kith/core/importfile"
)

// DefaultMaxFile is the size of an upload at most, compressed and uncompressed, in bytes.
const DefaultMaxFile = 2 << 30

// Upload stores a file for a job (spec 4.1.1), and returns its reference. name is the
// sender's name of the file, or empty. Its format is detected from the name or from the first
// bytes. It is stored as CSV in UTF-8 with commas, or as JSONL; see package sheet, and ReadAs.
// The file may be compressed with gzip. An empty file is
// invalid, one of more than Max bytes is too large, and one for which the tenant has no room
// is a conflict; if body has a method Size, that is found before it is read. If reading body
// fails, no file is stored. A file that no job reads within a day is removed.
func (fs *Files) Upload(ctx context.Context, tenant core.TenantAlias, name string, body io.Reader) (ref core.FileRef, err error) {
	defer func() { err = whileFull(err) }()
	size := int64(0)
	if known, ok := body.(interface{ Size() int64 }); ok {
		size = min(max(known.Size(), 0), fs.maxFile())
	}
	in, err := sheet.Open(name, body, fs.maxFile())
	if err != nil {
		return "", err
	}
	f, err := fs.begin(ctx, tenant, name, in, uploadKind, size)
	if err != nil {
		return "", err
	}
	defer f.Abort()
	return f.ref, f.receive(in)
}

// ReadAs returns the form in which an upload came. That of an unknown one is the zero Dialect.
func (fs *Files) ReadAs(ctx context.Context, tenant core.TenantAlias, ref core.FileRef) (importfile.Dialect, error) {
	f, _, err := jobdb.FindFile(ctx, fs.DB.Reads, tenant, ref)
	return importfile.ParseDialect(f.Dialect), err
}

// begin begins the file of an upload. size is 0 if it is unknown.
func (fs *Files) begin(ctx context.Context, tenant core.TenantAlias, name string, in *sheet.File, k kind, size int64) (*newFile, error) {
	return fs.createFile(ctx, tenant, k, name, in.Extension, max(size, int64(in.Beginning)))
}

// receive writes and completes the file of an upload.
func (f *newFile) receive(in *sheet.File) error {
	dialect, err := in.Copy(f)
	if err != nil {
		return err
	}
	f.dialect = dialect
	return f.Close()
}

func (fs *Files) maxFile() int64 { return cmp.Or(fs.Max, DefaultMaxFile) }
