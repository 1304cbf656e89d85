// Package importfile decides what the rows of an uploaded file are: where each
// begins and ends, what its columns are called and what may stand in them
// (reference, 3.3). What a row means to its job is read in core/wire, by the
// same parsers that read the bodies of calls.
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
	// CSV has a header, then a row for each record; names of nested keys are
	// dotted, and case counts.
	CSV Format = "csv"
	// JSONL has one JSON object in each line.
	JSONL Format = "jsonl"
)

// Bounds of a file. Its size is configuration.
const (
	// MaxRecord is the longest record, in bytes: as long as the body of a call.
	MaxRecord = 1 << 20
	// MaxColumns is the most columns of a CSV file.
	MaxColumns = 1000
)

// GzipEnding ends the name of a file that is packed.
const GzipEnding = ".gz"

// FormatOf tells the form of a file by its name, or by how it begins when the
// name does not say. beginning is unpacked.
func FormatOf(name string, beginning []byte) Format {
	name = strings.TrimSuffix(strings.ToLower(name), GzipEnding)
	switch {
	case strings.HasSuffix(name, ".csv"):
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

// Packed reports whether a file begins as gzip does.
func Packed(beginning []byte) bool {
	return len(beginning) > 2 && beginning[0] == 0x1f && beginning[1] == 0x8b && beginning[2] == 8
}

// bom may stand before the first character of a file in UTF-8.
const bom = "\ufeff"

// Problem is what is wrong with a file or with one of its rows, in words for
// whoever sent it.
type Problem struct {
	// Record counts the records from 1, the header of a CSV file not among
	// them; 0 is the header, or the file as a whole.
	Record int64
	// Column is the column's name, or empty.
	Column string
	Reason string
}

// Error says where, then what.
func (p Problem) Error() string {
	where := ""
	if p.Record > 0 {
		where = "row " + strconv.FormatInt(p.Record, 10)
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
