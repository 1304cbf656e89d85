package jobs

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"strconv"

	"kith/core"
	"kith/core/importfile"
)

// DefaultMaxFile is the size of an upload at most, compressed and uncompressed, in bytes.
const DefaultMaxFile = 2 << 30

// sniffed is the number of bytes from which the format of a file is detected.
const sniffed = 4 << 10

// Upload stores a file for a job (spec 4.1.1), and returns its reference. name is the
// sender's name of the file, or empty. The format, CSV or JSONL, is detected from the name
// or from the first bytes. The file may be compressed with gzip. An empty file is
// invalid, one of more than Max bytes is too large, and one for which the tenant has no room
// is a conflict; if body has a method Size, that is found before it is read. If reading body
// fails, no file is stored. A file that no job reads within a day is removed.
func (fs *Files) Upload(ctx context.Context, tenant core.TenantAlias, name string, body io.Reader) (ref core.FileRef, err error) {
	defer func() { err = whileFull(err) }()
	in := bufio.NewReaderSize(body, sniffed)
	limit, size := fs.maxFile(), int64(0)
	if known, ok := body.(interface{ Size() int64 }); ok {
		size = min(max(known.Size(), 0), limit)
	}
	f, err := fs.begin(ctx, tenant, name, in, uploadKind, size)
	if err != nil {
		return "", err
	}
	defer f.Abort()
	n, err := io.Copy(f, io.LimitReader(in, limit+1))
	if err != nil {
		return "", err
	}
	if n > limit {
		return "", tooLargeFile(limit)
	}
	return f.ref, f.Close()
}

// begin begins the file of an upload: it detects the format from the first bytes. size is 0 if
// it is unknown.
func (fs *Files) begin(ctx context.Context, tenant core.TenantAlias, name string, in *bufio.Reader, k kind, size int64) (*newFile, error) {
	beginning, err := in.Peek(sniffed)
	if len(beginning) == 0 {
		if err == io.EOF {
			err = core.Invalid("file", "is empty")
		}
		return nil, err
	}
	if importfile.Workbook(beginning) {
		return nil, core.Invalid("file", `is an Excel workbook or another archive; in Excel choose "Save as" and "CSV UTF-8", and upload that file`)
	}
	return fs.createFile(ctx, tenant, k, name, extension(name, beginning), max(size, int64(len(beginning))))
}

func (fs *Files) maxFile() int64 {
	if fs.Max > 0 {
		return fs.Max
	}
	return DefaultMaxFile
}

func tooLargeFile(limit int64) error {
	return &core.Error{Code: core.CodeTooLarge, Field: "file", Message: "is larger than " + strconv.FormatInt(limit, 10) + " bytes"}
}

// extension returns the end of a file's reference, which names its format, such as
// csv.gz.
func extension(name string, beginning []byte) string {
	if !importfile.Packed(beginning) {
		return string(importfile.FormatOf(name, beginning))
	}
	text := make([]byte, sniffed)
	if zip, err := gzip.NewReader(bytes.NewReader(beginning)); err == nil {
		n, _ := io.ReadFull(zip, text)
		text = text[:n]
	}
	return string(importfile.FormatOf(name, text)) + importfile.GzipEnding
}
