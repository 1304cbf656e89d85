// Package sheet writes rows to the files that jobs write, as CSV or XLSX, row by
// row.
package sheet

import (
	"archive/zip"
	"encoding/csv"
	"io"
	"strconv"

	"github.com/xuri/excelize/v2"

	"kith/core/job"
)

// Writer writes rows. It is not safe for concurrent use.
type Writer interface {
	// Write adds a row.
	Write(cells []string) error
	// Copy adds rows that are CSV, as encoding/csv writes it.
	Copy(rows io.Reader) error
	// Close writes what is still kept. It does not close what it writes to.
	Close() error
	// Discard lets go of what is kept; after Close it does nothing.
	Discard()
}

// New returns a writer of a format that begins every sheet with a header.
func New(format job.Format, to io.Writer, header []string) (Writer, error) {
	if format == job.XLSX {
		return newXLSX(to, header)
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

func (w csvWriter) Discard() {}

// maxRows is how many rows a sheet of XLSX may have.
const maxRows = 1 << 20

// xlsx keeps its rows in a temporary file and packs them at the end. A sheet
// that is full is followed by another.
type xlsx struct {
	to     io.Writer
	header []string
	file   *excelize.File
	sheet  *excelize.StreamWriter
	row    int
	sheets int
	cells  []any
}

func newXLSX(to io.Writer, header []string) (*xlsx, error) {
	x := &xlsx{to: to, header: header, file: excelize.NewFile()}
	// The buffer that excelize would fill holds the whole archive.
	x.file.SetZipWriter(func(io.Writer) excelize.ZipWriter { return zip.NewWriter(to) })
	return x, x.nextSheet()
}

func (x *xlsx) nextSheet() error {
	if x.sheet != nil {
		if err := x.sheet.Flush(); err != nil {
			return err
		}
	}
	x.sheets++
	name := "Sheet" + strconv.Itoa(x.sheets)
	if _, err := x.file.NewSheet(name); err != nil {
		return err
	}
	sheet, err := x.file.NewStreamWriter(name)
	if err != nil {
		return err
	}
	x.sheet, x.row = sheet, 0
	return x.add(x.header)
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

func (x *xlsx) add(cells []string) error {
	x.row++
	at, err := excelize.CoordinatesToCellName(1, x.row)
	if err != nil {
		return err
	}
	x.cells = x.cells[:0]
	for _, c := range cells {
		x.cells = append(x.cells, c)
	}
	return x.sheet.SetRow(at, x.cells)
}

// Close implements Writer.
func (x *xlsx) Close() error {
	defer x.Discard()
	if err := x.sheet.Flush(); err != nil {
		return err
	}
	_, err := x.file.WriteTo(x.to)
	return err
}

// Discard implements Writer.
func (x *xlsx) Discard() { _ = x.file.Close() }
