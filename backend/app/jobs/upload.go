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

// DefaultMaxFile bounds a file that is uploaded, packed and unpacked, in bytes.
const DefaultMaxFile = 2 << 30

// sniffed is how much of a file is looked at to tell what it is.
const sniffed = 4 << 10

// Upload keeps a file for a job to read (spec 4.1.1). name is what its
// sender calls it, or empty: CSV or JSONL is told by it, or by how the file
// begins. It may be packed with gzip.
func (fs *Files) Upload(ctx context.Context, tenant core.TenantAlias, name string, body io.Reader) (core.FileRef, error) {
	in := bufio.NewReaderSize(body, sniffed)
	beginning, err := in.Peek(sniffed)
	if len(beginning) == 0 {
		if err == io.EOF {
			err = core.Invalid("file", "is empty")
		}
		return "", err
	}
	f, err := fs.createFile(ctx, tenant, core.ImportFolder, name, extension(name, beginning))
	if err != nil {
		return "", err
	}
	defer f.Abort()
	most := fs.maxFile()
	n, err := io.Copy(f, io.LimitReader(in, most+1))
	if err != nil {
		return "", err
	}
	if n > most {
		return "", tooLargeFile(most)
	}
	return f.ref, f.Close()
}

func (fs *Files) maxFile() int64 {
	if fs.Max > 0 {
		return fs.Max
	}
	return DefaultMaxFile
}

func tooLargeFile(most int64) error {
	return &core.Error{Code: core.CodeTooLarge, Field: "file", Message: "is larger than " + strconv.FormatInt(most, 10) + " bytes"}
}

// extension is what the ref of a file ends in.
func extension(name string, beginning []byte) string {
	if !importfile.Packed(beginning) {
		return string(importfile.FormatOf(name, beginning))
	}
	inside := make([]byte, sniffed)
	if unpacked, err := gzip.NewReader(bytes.NewReader(beginning)); err == nil {
		n, _ := io.ReadFull(unpacked, inside)
		inside = inside[:n]
	}
	return string(importfile.FormatOf(name, inside)) + importfile.GzipEnding
}
