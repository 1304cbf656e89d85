// Package sheet reads files that people have, and writes what imports read: CSV in UTF-8 with
// commas, or JSONL. It detects Excel workbooks, UTF-16, Windows-1252, semicolons and tabs. A
// file that needs no conversion is copied byte for byte.
//
// Everything in a file is untrusted: sizes are bounded before memory is used.
package sheet

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strconv"

	"kith/core"
	"kith/core/importfile"
)

const (
	// sniffed is the number of bytes from which the form of a file is detected, and unpacked
	// that of the uncompressed bytes of a gzip file.
	sniffed  = 64 << 10
	unpacked = 1 << 20
)

// File is a file whose form is known. Copy must be called once.
type File struct {
	// Extension is the end of the name of what Copy writes, such as csv.gz.
	Extension string
	// Beginning is the number of bytes that are known to be in the file.
	Beginning int
	in        io.Reader
	format    importfile.Format
	limit     int64
	// packed is true for a gzip file that is copied as it is.
	packed bool
	book   bool
}

// Open detects the form of a file from its name, which may be empty, and from its first bytes.
// limit is the most bytes that are read, and that are written. An empty file, or a kind of
// archive that cannot be read, is an error about "file".
func Open(name string, in io.Reader, limit int64) (*File, error) {
	from := bufio.NewReaderSize(in, sniffed)
	beginning, err := from.Peek(sniffed)
	if len(beginning) == 0 {
		if err == io.EOF {
			err = core.Invalid("file", "is empty")
		}
		return nil, err
	}
	if err != nil && err != io.EOF {
		return nil, err
	}
	f := &File{in: &limited{from: from, left: limit, limit: limit}, limit: limit, Beginning: len(beginning)}
	if importfile.Packed(beginning) {
		if err := f.openPacked(name, beginning); err != nil || f.packed {
			return f, err
		}
		from = bufio.NewReaderSize(f.in, sniffed)
		f.in = from
		if beginning, err = from.Peek(sniffed); err != nil && err != io.EOF {
			return nil, err
		}
	}
	if f.book, err = workbook(beginning); err != nil {
		return nil, err
	}
	f.format = importfile.CSV
	if !f.book {
		f.format = formatOf(name, beginning)
	}
	f.Extension = string(f.format)
	return f, nil
}

// openPacked decides whether a gzip file can be copied as it is. Only its first bytes say so: a
// file of which a later row turns out not to be UTF-8 is refused when it is read.
func (f *File) openPacked(name string, beginning []byte) error {
	head := make([]byte, unpacked)
	if zip, err := gzip.NewReader(bytes.NewReader(beginning)); err == nil {
		n, _ := io.ReadFull(zip, head)
		head = head[:n]
	} else {
		head = nil // its import says that it is corrupt
	}
	f.format = formatOf(name, head)
	f.Extension = string(f.format) + importfile.GzipEnding
	book, err := workbook(head)
	if err != nil {
		return err
	}
	if f.packed = !book && plain(head, f.format); f.packed {
		return nil
	}
	zip, err := gzip.NewReader(f.in)
	if err != nil {
		return core.Invalid("file", "is a corrupt gzip file; compress it again")
	}
	f.in = &limited{from: zip, left: f.limit, limit: f.limit}
	return nil
}

// formatOf returns the format of a text file.
func formatOf(name string, head []byte) importfile.Format {
	if text, ok := fromUTF16(head); ok {
		head = text
	}
	return importfile.FormatOf(name, head)
}

// Copy writes the file, and returns the form in which it came. The error is about "file" if the
// file cannot be read or is too large.
func (f *File) Copy(to io.Writer) (d importfile.Dialect, err error) {
	out := &counted{to: to, limit: f.limit}
	switch {
	case f.packed:
		d = importfile.Dialect{Encoding: importfile.UTF8, Separator: comma(f.format)}
		_, err = io.Copy(out, f.in)
	case f.book:
		d, err = copyWorkbook(out, f.in)
	default:
		d, err = copyText(out, f.in, f.format)
	}
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) {
		err = core.Invalid("file", "is a corrupt gzip file; compress it again")
	}
	return d, err
}

func comma(format importfile.Format) string {
	if format == importfile.CSV {
		return ","
	}
	return ""
}

// TooLarge is the error of a file of more than limit bytes.
func TooLarge(limit int64) error {
	return &core.Error{Code: core.CodeTooLarge, Field: "file", Message: "is larger than " + strconv.FormatInt(limit, 10) + " bytes"}
}

// limited reads up to limit bytes, of which left are left; more are an error.
type limited struct {
	from        io.Reader
	left, limit int64
}

func (r *limited) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if r.left -= int64(n); r.left < 0 {
		return 0, TooLarge(r.limit)
	}
	return n, err
}

// counted writes up to limit bytes.
type counted struct {
	to       io.Writer
	n, limit int64
}

func (w *counted) Write(p []byte) (int, error) {
	if w.n+int64(len(p)) > w.limit {
		return 0, TooLarge(w.limit)
	}
	n, err := w.to.Write(p)
	w.n += int64(n)
	return n, err
}
