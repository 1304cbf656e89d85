package xlsx_test

import (
	"archive/zip"
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/xuri/excelize/v2"

	"kith/backend/xlsx"
	"kith/core/exportfile"
	"kith/core/job"
)

var header = []string{"id", "name"}

func write(t testing.TB, format job.Format, to io.Writer, rows ...[]string) {
	t.Helper()
	w, err := xlsx.New(format, to, header)
	require.NoError(t, err)
	for _, row := range rows {
		require.NoError(t, w.Write(row))
	}
	require.NoError(t, w.Close())
}

func TestCSV(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	write(t, job.CSV, &b, []string{"1", `a "b", c`}, []string{"2", "two\nlines"}, []string{"", "ü"})
	require.Equal(t, "id,name\n1,\"a \"\"b\"\", c\"\n2,\"two\nlines\"\n,ü\n", b.String())
}

func TestCSV_HeaderAlways(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	write(t, job.CSV, &b)
	require.Equal(t, "id,name\n", b.String())
}

// Texts stay texts: none becomes a formula, or a number without its leading zeros.
func TestXLSX(t *testing.T) {
	t.Parallel()
	rows := [][]string{{"007", "=1+1"}, {"12345678901234567890", " a<b>&\"c\"\n"}, {"1e5", "TRUE"}, {"", "ü"}}
	var b bytes.Buffer
	write(t, job.XLSX, &b, rows...)
	f, err := excelize.OpenReader(&b)
	require.NoError(t, err)
	defer f.Close()
	got, err := f.GetRows("Sheet1")
	require.NoError(t, err)
	require.Equal(t, append([][]string{header}, rows...), got)
	formula, err := f.GetCellFormula("Sheet1", "B2")
	require.NoError(t, err)
	require.Empty(t, formula)
}

// Excel reads _x0041_ as A, and refuses a cell of more than 32,767 UTF-16 units.
func TestXLSX_CellTexts(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	write(t, job.XLSX, &b, []string{"_x0041_ _x_", "\x01"}, []string{strings.Repeat("𝄞", 1<<14), strings.Repeat("ü", 1<<15-1)})
	got := cells(t, job.XLSX, b.Bytes())
	require.Equal(t, []string{"_x0041_ _x_", "\uFFFD"}, got[1])
	require.Equal(t, []string{strings.Repeat("𝄞", 1<<14-1), strings.Repeat("ü", 1<<15-1)}, got[2])
}

// A file for people has numbers that can be added up, and times that can be sorted and shown
// in another form; what is none of these stays a text.
func TestXLSX_ForPeople(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	w, err := xlsx.New(job.XLSX, &b, []string{"id", "at", "revenue"}, exportfile.Text, exportfile.Date, exportfile.Number)
	require.NoError(t, err)
	require.NoError(t, errors.Join(w.Write([]string{"7", "2026-11-26 14:03:07", "-12.50"}), w.Write([]string{"8", "", "2 Euro"}), w.Write([]string{"9", "1899-12-31 00:00:00", "007"}), w.Close()))
	f, err := excelize.OpenReader(&b)
	require.NoError(t, err)
	defer f.Close()
	shown, err := f.GetRows("Sheet1")
	require.NoError(t, err)
	require.Equal(t, [][]string{{"id", "at", "revenue"}, {"7", "2026-11-26 14:03:07", "-12.5"}, {"8", "", "2 Euro"}, {"9", "1899-12-31 00:00:00", "007"}}, shown)
	for cell, want := range map[string]excelize.CellType{
		"A2": excelize.CellTypeInlineString, "B2": excelize.CellTypeUnset, "C2": excelize.CellTypeUnset, "C3": excelize.CellTypeInlineString,
		"B4": excelize.CellTypeInlineString, "C4": excelize.CellTypeInlineString, "B1": excelize.CellTypeInlineString,
	} {
		got, err := f.GetCellType("Sheet1", cell)
		require.NoError(t, err)
		require.Equal(t, want, got, cell)
	}
	at, err := f.GetCellValue("Sheet1", "B2", excelize.Options{RawCellValue: true})
	require.NoError(t, err)
	require.Regexp(t, `^46352\.58549`, at)
	empty, err := f.GetCellType("Sheet1", "B3")
	require.NoError(t, err)
	require.Equal(t, excelize.CellTypeUnset, empty, "an empty cell has no text, so that filters find it")
	style, err := f.GetCellStyle("Sheet1", "B2")
	require.NoError(t, err)
	shape, err := f.GetStyle(style)
	require.NoError(t, err)
	require.NotNil(t, shape.CustomNumFmt)
	require.Equal(t, `yyyy\-mm\-dd\ hh:mm:ss`, *shape.CustomNumFmt)
	width, err := f.GetColWidth("Sheet1", "B")
	require.NoError(t, err)
	require.Greater(t, width, 18.0)
}

// Without the mark, Excel reads the letters of other alphabets wrong.
func TestCSV_ForPeople(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	w, err := xlsx.New(job.CSV, &b, header, exportfile.Text, exportfile.Text)
	require.NoError(t, err)
	require.NoError(t, errors.Join(w.Write([]string{"1", "ü"}), w.Close()))
	require.Equal(t, "\ufeffid,name\n1,ü\n", b.String())
}

// After 1,048,576 rows a new sheet begins, with the header.
func TestXLSX_SecondSheet(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	w, err := xlsx.New(job.XLSX, &b, header)
	require.NoError(t, err)
	for range 1<<20 - 1 {
		require.NoError(t, w.Write(nil))
	}
	require.NoError(t, w.Write([]string{"1", "last"}))
	require.NoError(t, w.Close())
	file, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	require.NoError(t, err)
	second, err := file.Open("xl/worksheets/sheet2.xml")
	require.NoError(t, err)
	text, err := io.ReadAll(second)
	require.NoError(t, err)
	require.Contains(t, string(text), "last")
	require.Equal(t, 2, strings.Count(string(text), "<row>"))
}

// A writer uses little memory, however long the file is.
func TestWriters_BoundedMemory(t *testing.T) {
	for _, format := range []job.Format{job.CSV, job.XLSX} {
		w, err := xlsx.New(format, io.Discard, header)
		require.NoError(t, err)
		text := strings.Repeat("x", 1000)
		before := inUse()
		for i := range 100_000 { // 100 MB
			require.NoError(t, w.Write([]string{strconv.Itoa(i), text}))
		}
		require.Less(t, inUse()-before, 40e6, format)
		require.NoError(t, w.Close())
		require.Less(t, inUse()-before, 40e6, format)
	}
}

func inUse() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapInuse)
}

func BenchmarkXLSX(b *testing.B) {
	w, err := xlsx.New(job.XLSX, io.Discard, header)
	require.NoError(b, err)
	row := []string{"01a1fc7021e97c971ff0e2d0", "somebody@example.com"}
	for b.Loop() {
		require.NoError(b, w.Write(row))
	}
	require.NoError(b, w.Close())
}

// Copied rows are added in order, between rows of Write.
func TestCopy(t *testing.T) {
	t.Parallel()
	rows := [][]string{{"1", "first"}, {"2", `a "b", c`}, {"", "ü\nü"}, {"4", "last"}}
	for _, format := range []job.Format{job.CSV, job.XLSX} {
		var some, whole, copied bytes.Buffer
		between := csv.NewWriter(&some)
		require.NoError(t, between.WriteAll(rows[1:3]))
		write(t, format, &whole, rows...)
		w, err := xlsx.New(format, &copied, header)
		require.NoError(t, err)
		require.NoError(t, errors.Join(w.Write(rows[0]), w.Copy(&some), w.Copy(&some), w.Write(rows[3]), w.Close()))
		require.Equal(t, cells(t, format, whole.Bytes()), cells(t, format, copied.Bytes()), format)
	}
}

func cells(t *testing.T, format job.Format, file []byte) (rows [][]string) {
	t.Helper()
	if format == job.CSV {
		rows, err := csv.NewReader(bytes.NewReader(file)).ReadAll()
		require.NoError(t, err)
		return rows
	}
	f, err := excelize.OpenReader(bytes.NewReader(file))
	require.NoError(t, err)
	defer f.Close()
	rows, err = f.GetRows("Sheet1")
	require.NoError(t, err)
	return rows
}
