package importfile

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf8"
)

// Reader reads the records of a file, one after the other. A record ends at the
// end of a line that is not within quotes; empty lines are none.
type Reader struct {
	format Format
	from   io.Reader
	// buffer[start:end] has been read and not yet given out; its first byte is
	// at position in the file.
	buffer     []byte
	start, end int
	position   int64
	ended      bool
	record     int64
	cells      []string
}

// buffered is how much is read at a time.
const buffered = 64 << 10

// NewReader reads a file from a place on, in bytes, that Position gave after so
// many records; both are 0 at its beginning, where a CSV file has its header.
func NewReader(format Format, from io.Reader, position, record int64) *Reader {
	if format == CSV && position == 0 {
		record = -1
	}
	return &Reader{format: format, from: from, buffer: make([]byte, buffered), position: position, record: record}
}

// Position is where the next record begins.
func (r *Reader) Position() int64 { return r.position }

// Record is the number of the record that was given out last.
func (r *Reader) Record() int64 { return r.record }

// Line returns the next record as it stands in the file, without the end of its
// line, or io.EOF. It is good until the next call. What makes the rest of the
// file unreadable is a Problem; a file that cannot be read, its reader's error.
func (r *Reader) Line() ([]byte, error) {
	for begun := r.position; ; {
		line, err := r.next()
		if err != nil {
			return nil, err
		}
		if r.format == JSONL {
			line = bytes.TrimSpace(line)
		}
		if len(line) == 0 {
			// Nobody else has a turn while empty lines are read.
			if r.position-begun > MaxRecord {
				r.record++
				return nil, r.problem("has more than 1 MiB of empty lines before it")
			}
			continue
		}
		r.record++
		if !utf8.Valid(line) {
			return nil, r.problem("is not UTF-8; save the file with that encoding")
		}
		return line, nil
	}
}

func (r *Reader) problem(reason string) error { return Problem{Record: r.record, Reason: reason} }

// next takes one line, or several when quotes hold them together.
func (r *Reader) next() ([]byte, error) {
	if r.position == 0 {
		if err := r.skipBOM(); err != nil {
			return nil, err
		}
	}
	searched, quotes := 0, 0
	for {
		unread := r.buffer[r.start:r.end]
		if i := bytes.IndexByte(unread[searched:], '\n'); i >= 0 {
			if r.format == CSV {
				quotes += bytes.Count(unread[searched:searched+i], quote)
			}
			searched += i + 1
			if quotes%2 == 0 && searched <= MaxRecord {
				return r.take(searched), nil
			}
			continue
		}
		if r.format == CSV {
			quotes += bytes.Count(unread[searched:], quote)
		}
		searched = len(unread)
		if r.ended && searched <= MaxRecord {
			return r.last(searched, quotes)
		}
		if searched > MaxRecord {
			r.record++
			return nil, r.problem("is longer than 1 MiB; a quote may be missing at the end of a field")
		}
		if err := r.fill(); err != nil {
			return nil, err
		}
	}
}

var quote = []byte{'"'}

// last is the record that no end of line follows.
func (r *Reader) last(length, quotes int) ([]byte, error) {
	switch {
	case quotes%2 != 0:
		r.record++
		return nil, r.problem("a quote is missing at the end of a field")
	case length == 0:
		return nil, io.EOF
	}
	return r.take(length), nil
}

// take gives out length bytes, without the end of their line.
func (r *Reader) take(length int) []byte {
	line := r.buffer[r.start : r.start+length]
	r.start += length
	r.position += int64(length)
	line = bytes.TrimSuffix(line, []byte{'\n'})
	return bytes.TrimSuffix(line, []byte{'\r'})
}

// fill reads on behind what is unread, which it moves or gives more room first.
func (r *Reader) fill() error {
	if r.start > 0 {
		copy(r.buffer, r.buffer[r.start:r.end])
		r.start, r.end = 0, r.end-r.start
	}
	if r.end == len(r.buffer) {
		r.buffer = append(r.buffer, make([]byte, len(r.buffer))...)
	}
	n, err := r.from.Read(r.buffer[r.end:])
	r.end += n
	if err == io.EOF {
		r.ended = true
		return nil
	}
	return err
}

func (r *Reader) skipBOM() error {
	for r.end-r.start < len(bom) && !r.ended {
		if err := r.fill(); err != nil {
			return err
		}
	}
	if bytes.HasPrefix(r.buffer[r.start:r.end], []byte(bom)) {
		r.start += len(bom)
		r.position += int64(len(bom))
	}
	return nil
}

// Cells returns the fields of a CSV record (RFC 4180). They are good until the
// next call. A record with a quote where none may stand is a Problem, since
// nobody can tell where it ends.
func (r *Reader) Cells(line []byte) ([]string, error) {
	r.cells = r.cells[:0]
	if bytes.IndexByte(line, '"') < 0 {
		// One text for all of them: a text for each is the dearest part.
		for cell := range strings.SplitSeq(string(line), ",") {
			r.cells = append(r.cells, cell)
		}
		return r.cells, nil
	}
	for rest := line; ; {
		cell, behind, more, ok := quotedCell(rest)
		if !ok {
			return nil, r.problem("has a quote where none may stand: a field with a quote in it must stand in quotes, with each of its own twice")
		}
		r.cells = append(r.cells, cell)
		if !more {
			return r.cells, nil
		}
		rest = behind
	}
}

// quotedCell takes the first field of a record, in quotes or not. more is true
// when a comma follows it, and behind is what follows the comma.
func quotedCell(line []byte) (cell string, behind []byte, more, ok bool) {
	if len(line) == 0 || line[0] != '"' {
		plain, behind, more := bytes.Cut(line, []byte{','})
		return string(plain), behind, more, bytes.IndexByte(plain, '"') < 0
	}
	var text []byte
	for rest := line[1:]; ; {
		end := bytes.IndexByte(rest, '"')
		if end < 0 {
			return "", nil, false, false
		}
		text, rest = append(text, rest[:end]...), rest[end+1:]
		switch {
		case len(rest) == 0:
			return string(text), nil, false, true
		case rest[0] == ',':
			return string(text), rest[1:], true, true
		case rest[0] != '"':
			return "", nil, false, false
		}
		text, rest = append(text, '"'), rest[1:]
	}
}
