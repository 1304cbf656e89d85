package importfile

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf8"
)

// Reader reads the records of a file, one at a time. A record ends at a line end that
// is not within quotes. Empty lines are skipped, and rows of a CSV file without any value.
type Reader struct {
	format Format
	from   io.Reader
	// buffer[start:end] has been read but not yet returned; its first byte is at
	// position in the file.
	buffer     []byte
	start, end int
	place      Place
	ended      bool
	cells      []string
}

// Place is a place between two records of a file.
type Place struct {
	// Position is in bytes.
	Position int64
	// Record is the number of the record before it, counted from 1 without the header of a
	// CSV file. Empty rows are no records.
	Record int64
	// Row is the number of the row before it as a spreadsheet shows it: the header counts,
	// and so do empty rows, and a record within quotes that has several lines is one row. In a
	// JSONL file it is the number of the line.
	Row int64
}

// bufferSize is the initial size of the buffer, in bytes.
const bufferSize = 64 << 10

// NewReader returns a reader that starts at a place that an earlier reader returned; from must
// already be at its position. The zero Place is the start of the file, where a CSV file has its
// header.
func NewReader(format Format, from io.Reader, at Place) *Reader {
	if format == CSV && at.Position == 0 {
		at.Record = -1
	}
	return &Reader{format: format, from: from, buffer: make([]byte, bufferSize), place: at}
}

// Place returns the place behind the record that Line returned last.
func (r *Reader) Place() Place { return r.place }

// Position returns the position of the next record, in bytes.
func (r *Reader) Position() int64 { return r.place.Position }

// Record returns the number of the record that Line returned last, counted from 1; 0
// is the header.
func (r *Reader) Record() int64 { return r.place.Record }

// Line returns the next record as in the file, without its line end, or io.EOF. It is
// valid until the next call. The error is a Problem if the rest of the file cannot be
// parsed, or an error of the underlying reader.
func (r *Reader) Line() ([]byte, error) {
	for begun := r.place.Position; ; {
		line, err := r.next()
		if err != nil {
			return nil, err
		}
		r.place.Row++
		if r.format == JSONL {
			line = bytes.TrimSpace(line)
		}
		if r.empty(line) {
			// The caller gets no control while empty lines are read, so their number
			// is limited.
			if r.place.Position-begun > MaxRecord {
				return nil, r.problem("has more than 1 MiB of empty lines before it")
			}
			continue
		}
		r.place.Record++
		if !utf8.Valid(line) {
			return nil, r.problem("is not UTF-8; save the file with that encoding")
		}
		return line, nil
	}
}

// empty reports whether a line has no value: spreadsheets write rows that have only commas.
func (r *Reader) empty(line []byte) bool {
	return len(line) == 0 || r.format == CSV && (line[0] == ',' || line[0] == ' ' || line[0] == '\t') && len(bytes.Trim(line, ", \t")) == 0
}

func (r *Reader) problem(reason string) error { return Problem{Row: r.place.Row, Reason: reason} }

// next returns one line, or several if quotes span them.
func (r *Reader) next() ([]byte, error) {
	if r.place.Position == 0 {
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
			r.place.Row++
			if r.format == JSONL {
				return nil, r.problem("is longer than 1 MiB; write each object on a line of its own")
			}
			if _, err := r.Cells(unread); err == r.problem(quoteWithin) {
				return nil, err
			}
			return nil, r.problem("is longer than 1 MiB; a quote may be missing at the end of a field")
		}
		if err := r.fill(); err != nil {
			return nil, err
		}
	}
}

var quote = []byte{'"'}

// Reasons why a quote is misplaced.
const (
	quoteWithin  = "has a quote within a field without quotes; enclose the field in quotes, and write each quote in it twice"
	quoteMissing = "a quote is missing at the end of a field"
	quoteEnds    = "has text after the closing quote of a field; write each quote within the field twice, and check that no quote is missing"
)

// last returns the record at the end of a file without a final line end.
func (r *Reader) last(length, quotes int) ([]byte, error) {
	switch {
	case quotes%2 != 0:
		r.place.Row++
		// The quotes do not pair up, so this is an error. The first misplaced quote is the cause.
		_, err := r.Cells(r.buffer[r.start : r.start+length])
		return nil, err
	case length == 0:
		return nil, io.EOF
	}
	return r.take(length), nil
}

// take returns the next length bytes, without their line end.
func (r *Reader) take(length int) []byte {
	line := r.buffer[r.start : r.start+length]
	r.start += length
	r.place.Position += int64(length)
	line = bytes.TrimSuffix(line, []byte{'\n'})
	return bytes.TrimSuffix(line, []byte{'\r'})
}

// fill reads more bytes into the buffer. It first moves the unread bytes to the
// front, or enlarges the buffer if it is full.
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
		r.place.Position += int64(len(bom))
	}
	return nil
}

// Cells returns the fields of a CSV record (RFC 4180). They are valid until the next
// call. The error is a Problem if a quote is not at the start or end of a field,
// because the end of the record is then ambiguous.
func (r *Reader) Cells(line []byte) ([]string, error) {
	r.cells = r.cells[:0]
	if bytes.IndexByte(line, '"') < 0 {
		// One string for all fields: an allocation for each is the largest cost.
		for cell := range strings.SplitSeq(string(line), ",") {
			r.cells = append(r.cells, cell)
		}
		return r.cells, nil
	}
	for rest := line; ; {
		cell, behind, more, reason := quotedCell(rest)
		if reason != "" {
			return nil, r.problem(reason)
		}
		r.cells = append(r.cells, cell)
		if !more {
			return r.cells, nil
		}
		rest = behind
	}
}

// quotedCell parses the first field of a record, quoted or not. more is true if a
// comma follows, and behind is the rest after the comma. reason is why a quote is
// misplaced, or empty.
func quotedCell(line []byte) (cell string, behind []byte, more bool, reason string) {
	if len(line) == 0 || line[0] != '"' {
		plain, behind, more := bytes.Cut(line, []byte{','})
		if bytes.IndexByte(plain, '"') >= 0 {
			reason = quoteWithin
		}
		return string(plain), behind, more, reason
	}
	var text []byte
	for rest := line[1:]; ; {
		end := bytes.IndexByte(rest, '"')
		if end < 0 {
			return "", nil, false, quoteMissing
		}
		text, rest = append(text, rest[:end]...), rest[end+1:]
		switch {
		case len(rest) == 0:
			return string(text), nil, false, ""
		case rest[0] == ',':
			return string(text), rest[1:], true, ""
		case rest[0] != '"':
			return "", nil, false, quoteEnds
		}
		text, rest = append(text, '"'), rest[1:]
	}
}
