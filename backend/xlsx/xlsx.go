// Package xlsx writes the result files of jobs, as CSV or XLSX, row by row.
package xlsx

import (
	"archive/zip"
	"bufio"
	"encoding/csv"
	"encoding/xml"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"kith/core/exportfile"
	"kith/core/job"
)

// Writer writes rows. It is not safe for concurrent use.
type Writer interface {
	// Write adds a row.
	Write(cells []string) error
	// Copy adds rows in the CSV format of encoding/csv.
	Copy(rows io.Reader) error
	// Close writes the end of the file. It does not close the underlying writer.
	Close() error
}

// New returns a writer of a format that begins every sheet with a header. With the types of its
// columns the file is for people: CSV begins with exportfile.Mark, and the cells of XLSX have types.
func New(format job.Format, to io.Writer, header []string, types ...exportfile.Cell) (Writer, error) {
	if format == job.XLSX {
		return newXLSX(to, header, types)
	}
	if types != nil {
		if _, err := io.WriteString(to, exportfile.Mark); err != nil {
			return nil, err
		}
	}
	w := csvWriter{csv.NewWriter(to), to}
	return w, w.Write(header)
}

type csvWriter struct {
	*csv.Writer
	to io.Writer
}

func (w csvWriter) Copy(rows io.Reader) error {
	if err := w.Close(); err != nil {
		return err
	}
	_, err := io.Copy(w.to, rows)
	return err
}

func (w csvWriter) Close() error {
	w.Flush()
	return w.Error()
}

// maxRows is the maximum number of rows in an XLSX sheet, maxCell that of UTF-16 units
// in a cell.
const (
	maxRows = 1 << 20
	maxCell = 1<<15 - 1
)

// xlsx writes a workbook in the format of ISO/IEC 29500. When a sheet is full, another one
// follows. The list of sheets is written last, when all are known; readers find it by its name.
type xlsx struct {
	zip    *zip.Writer
	part   *bufio.Writer // the sheet that is being written; it keeps its first error until Flush
	header []string
	// types are those of the columns; without them all cells are texts.
	types  []exportfile.Cell
	row    int
	sheets int
}

const (
	xmlHeader = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>` + "\n"
	main      = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
	relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
	packages  = "http://schemas.openxmlformats.org/package/2006"
	mediaType = "application/vnd.openxmlformats-officedocument.spreadsheetml."
)

func newXLSX(to io.Writer, header []string, types []exportfile.Cell) (*xlsx, error) {
	x := &xlsx{zip: zip.NewWriter(to), header: header, types: types}
	return x, x.nextSheet()
}

func (x *xlsx) nextSheet() error {
	if err := x.endSheet(); err != nil {
		return err
	}
	x.sheets++
	part, err := x.zip.Create("xl/worksheets/sheet" + strconv.Itoa(x.sheets) + ".xml")
	if err != nil {
		return err
	}
	x.part, x.row = bufio.NewWriter(part), 0
	_, _ = x.part.WriteString(xmlHeader + `<worksheet xmlns="` + main + `">` + x.widths() + `<sheetData>`)
	return x.add(x.header)
}

func (x *xlsx) endSheet() error {
	if x.part == nil {
		return nil
	}
	_, _ = x.part.WriteString(`</sheetData></worksheet>`)
	return x.part.Flush()
}

// Write implements Writer.
func (x *xlsx) Write(cells []string) error {
	if x.row == maxRows {
		if err := x.nextSheet(); err != nil {
			return err
		}
	}
	return x.add(cells)
}

// Copy implements Writer.
func (x *xlsx) Copy(rows io.Reader) error {
	in := csv.NewReader(rows)
	in.ReuseRecord = true
	for {
		row, err := in.Read()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := x.Write(row); err != nil {
			return err
		}
	}
}

// widths returns the widths of the columns with dates: a spreadsheet shows # in place of one
// that is wider than its column.
func (x *xlsx) widths() string {
	all := ""
	for i, typ := range x.types {
		if n := strconv.Itoa(i + 1); typ == exportfile.Date {
			all += `<col min="` + n + `" max="` + n + `" width="19" customWidth="1"/>`
		}
	}
	if all == "" {
		return ""
	}
	return `<cols>` + all + `</cols>`
}

// serial returns a time as the number by which a workbook stores it: the days since
// 1899-12-30. ok is false for another text, and before March 1900, where programs disagree.
func serial(cell string) (days string, ok bool) {
	t, err := time.Parse(exportfile.LocalTime, cell)
	n := float64(t.Unix()+25569*24*3600) / (24 * 3600)
	return strconv.FormatFloat(n, 'f', -1, 64), err == nil && n >= 61
}

// value returns a cell that is no text: its number, and the attribute of its style.
func (x *xlsx) value(column int, cell string) (number, style string, ok bool) {
	if x.row == 1 || column >= len(x.types) {
		return "", "", false
	}
	switch x.types[column] {
	case exportfile.Number:
		return cell, "", exportfile.IsNumber(cell)
	case exportfile.Date:
		number, ok = serial(cell)
		return number, ` s="1"`, ok
	}
	return "", "", false
}

// add writes a row. The cells have no reference, so each is placed to the right of the
// one before it.
func (x *xlsx) add(cells []string) error {
	x.row++
	_, _ = x.part.WriteString(`<row>`)
	for i, cell := range cells {
		if number, style, ok := x.value(i, cell); ok {
			_, _ = x.part.WriteString(`<c` + style + `><v>` + number + `</v></c>`)
			continue
		}
		if cell == "" && x.types != nil {
			_, _ = x.part.WriteString(`<c/>`)
			continue
		}
		_, _ = x.part.WriteString(`<c t="inlineStr"><is><t xml:space="preserve">`)
		if err := xml.EscapeText(x.part, []byte(cellText(cell))); err != nil {
			return err
		}
		_, _ = x.part.WriteString(`</t></is></c>`)
	}
	_, err := x.part.WriteString(`</row>`)
	return err
}

// escape matches the XLSX escape of a character that XML does not allow: _x0001_.
var escape = regexp.MustCompile(`_x[0-9A-Fa-f]{4}_`)

// cellText returns a text for a cell: cut to maxCell, and with text that looks like an
// escape escaped.
func cellText(s string) string {
	if len(s) > maxCell {
		units := 0
		for at, r := range s {
			if units += utf16.RuneLen(r); units > maxCell {
				s = s[:at]
				break
			}
		}
	}
	if strings.Contains(s, "_x") {
		s = escape.ReplaceAllStringFunc(s, func(match string) string { return "_x005F" + match })
	}
	return s
}

// Close implements Writer.
func (x *xlsx) Close() error {
	if err := x.endSheet(); err != nil {
		return err
	}
	var types, sheets, links strings.Builder
	for i := range x.sheets {
		n := strconv.Itoa(i + 1)
		types.WriteString(`<Override PartName="/xl/worksheets/sheet` + n + `.xml" ContentType="` + mediaType + `worksheet+xml"/>`)
		sheets.WriteString(`<sheet name="Sheet` + n + `" sheetId="` + n + `" r:id="rId` + n + `"/>`)
		links.WriteString(relation(n, "worksheet", "worksheets/sheet"+n+".xml"))
	}
	var parts [][2]string
	if x.types != nil {
		types.WriteString(`<Override PartName="/xl/styles.xml" ContentType="` + mediaType + `styles+xml"/>`)
		links.WriteString(relation("Styles", "styles", "styles.xml"))
		parts = [][2]string{{"xl/styles.xml", styles}}
	}
	for _, part := range append(parts, [][2]string{
		{"xl/workbook.xml", `<workbook xmlns="` + main + `" xmlns:r="` + relations + `"><sheets>` + sheets.String() + `</sheets></workbook>`},
		{"xl/_rels/workbook.xml.rels", `<Relationships xmlns="` + packages + `/relationships">` + links.String() + `</Relationships>`},
		{"_rels/.rels", `<Relationships xmlns="` + packages + `/relationships">` + relation("1", "officeDocument", "xl/workbook.xml") + `</Relationships>`},
		{"[Content_Types].xml", `<Types xmlns="` + packages + `/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
			`<Override PartName="/xl/workbook.xml" ContentType="` + mediaType + `sheet.main+xml"/>` + types.String() + `</Types>`},
	}...) {
		w, err := x.zip.Create(part[0])
		if err != nil {
			return err
		}
		if _, err := io.WriteString(w, xmlHeader+part[1]); err != nil {
			return err
		}
	}
	return x.zip.Close()
}

// styles are those of cells: 0 has none, and 1 shows a number as a time. Excel repairs a workbook
// without a font, or without the two fills that it reserves.
const styles = `<styleSheet xmlns="` + main + `"><numFmts count="1"><numFmt numFmtId="164" formatCode="yyyy\-mm\-dd\ hh:mm:ss"/></numFmts>` +
	`<fonts count="1"><font><sz val="11"/><name val="Calibri"/><family val="2"/></font></fonts>` +
	`<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills>` +
	`<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>` +
	`<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>` +
	`<cellXfs count="2"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/><xf numFmtId="164" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/></cellXfs>` +
	`<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>`

func relation(n, kind, target string) string {
	return `<Relationship Id="rId` + n + `" Type="` + relations + `/` + kind + `" Target="` + target + `"/>`
}
