// Package importfile parses uploaded files into rows: where each begins and ends, the
// names of the columns, and the kinds of their values (clients 3.3). Package
// core/wire decodes a row for its job, with the parsers of request bodies.
//
// Files are read as streams: no more than one row is in memory at a time.
package importfile

import (
	"strconv"
	"strings"
)

// Format is the form of an uploaded file.
type Format string

const (
	// CSV has a header, then a row for each record. Names of nested keys have dots
	// between their parts, and are case-sensitive.
	CSV Format = "csv"
	// JSONL has one JSON object in each line.
	JSONL Format = "jsonl"
)

// Limits of a file. Its size is limited by configuration.
const (
	// MaxRecord is the most bytes of a record, as of the body of a call.
	MaxRecord = 1 << 20
	// MaxColumns is the most columns of a CSV file.
	MaxColumns = 1000
)

// GzipEnding ends the name of a gzip file.
const GzipEnding = ".gz"

// FormatOf returns the format of a file by its name or, if the name has no known
// ending, by its first bytes, which must be decompressed.
func FormatOf(name string, beginning []byte) Format {
	name = strings.TrimSuffix(strings.ToLower(name), GzipEnding)
	switch {
	case strings.HasSuffix(name, ".csv"), strings.HasSuffix(name, ".tsv"):
		return CSV
	case strings.HasSuffix(name, ".jsonl"), strings.HasSuffix(name, ".ndjson"):
		return JSONL
	}
	for _, c := range strings.TrimPrefix(string(beginning), bom) {
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		case '{':
			return JSONL
		}
		break
	}
	return CSV
}

// Packed reports whether a file begins like a gzip file.
func Packed(beginning []byte) bool {
	return len(beginning) > 2 && beginning[0] == 0x1f && beginning[1] == 0x8b && beginning[2] == 8
}

// bom is the byte order mark with which a file may begin.
const bom = "\ufeff"

// Problem is an error in a file or in one of its rows, for the file's sender.
type Problem struct {
	// Row is the number of the row, as Place.Row counts: the header of a CSV file is mostly
	// row 1. 0 means the whole file.
	Row int64
	// Column is the column's name, or empty.
	Column string
	Reason string
	// Value is what the column has in this row, shortened; empty if it has nothing.
	Value string
}

// maxValue is the most bytes of Problem.Value.
const maxValue = 80

// ShortValue returns a value as Problem.Value has it.
func ShortValue(value string) string {
	if len(value) <= maxValue {
		return value
	}
	return strings.ToValidUTF8(value[:maxValue], "") + "…"
}

// Error returns the position, then the reason.
func (p Problem) Error() string {
	where := ""
	if p.Row > 0 {
		where = "row " + strconv.FormatInt(p.Row, 10)
	}
	if p.Column != "" {
		if where != "" {
			where += ", "
		}
		where += "column " + p.Column
	}
	if where == "" {
		return p.Reason
	}
	return where + ": " + p.Reason
}
