package importfile

import "strings"

// Encodings of files.
const (
	UTF8        = "UTF-8"
	UTF16       = "UTF-16"
	Windows1252 = "Windows-1252"
	// Excel is the encoding of a workbook.
	Excel = "XLSX"
)

// Dialect says in which form a file came. It is stored as UTF-8 with commas, whatever it was;
// the zero Dialect is that of a file from before dialects were stored.
type Dialect struct {
	Encoding string
	// Separator is a comma, a semicolon or a tab; empty in a JSONL file and in a workbook.
	Separator string
	// Sheet is the name of the sheet of a workbook that is read: its first visible one.
	Sheet string
}

// ParseDialect parses a text that String returned.
func ParseDialect(text string) (d Dialect) {
	d.Encoding, text, _ = strings.Cut(text, " ")
	d.Separator, d.Sheet, _ = strings.Cut(text, " ")
	return d
}

// String returns the dialect as it is stored.
func (d Dialect) String() string {
	return strings.TrimRight(d.Encoding+" "+d.Separator+" "+d.Sheet, " ")
}

// Plain reports whether the file was stored as it came.
func (d Dialect) Plain() bool {
	return (d.Encoding == "" || d.Encoding == UTF8) && (d.Separator == "" || d.Separator == ",")
}

// Workbook reports whether the file was a workbook.
func (d Dialect) Workbook() bool { return d.Encoding == Excel }

// Words returns the dialect for people, such as "Windows-1252 with semicolons".
func (d Dialect) Words() string {
	if d.Workbook() {
		return `the sheet "` + d.Sheet + `" of a workbook; only this sheet is read`
	}
	words := d.Encoding
	if words == "" {
		words = UTF8
	}
	switch d.Separator {
	case ",":
		words += " with commas"
	case ";":
		words += " with semicolons (numbers may have a decimal comma, as in 1.234,50)"
	case "\t":
		words += " with tabs"
	}
	return words
}
