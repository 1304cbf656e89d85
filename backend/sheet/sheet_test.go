package sheet_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf16"

	"github.com/stretchr/testify/require"
	"github.com/xuri/excelize/v2"

	"kith/backend/sheet"
	"kith/core"
	"kith/core/importfile"
)

const limit = 8 << 20

// convert returns what is stored of a file, which arrives n bytes at a time; 0: all at once.
func convert(name string, in io.Reader) (text, extension string, d importfile.Dialect, err error) {
	f, err := sheet.Open(name, in, limit)
	if err != nil {
		return "", "", d, err
	}
	var out bytes.Buffer
	d, err = f.Copy(&out)
	return out.String(), f.Extension, d, err
}

// units returns a text as UTF-16 with its mark.
func units(order binary.AppendByteOrder, text string) (b string) {
	var all []byte
	for _, u := range utf16.Encode([]rune("\ufeff" + text)) {
		all = order.AppendUint16(all, u)
	}
	return string(all)
}

func packed(text string) string {
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	_, _ = io.WriteString(zip, text)
	_ = zip.Close()
	return b.String()
}

func TestCopy_Text(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("abc,de\n", 20_000)
	for _, c := range []struct{ name, file, text, dialect string }{
		{"plain", "id,name\n1,Jürgen\n", "id,name\n1,Jürgen\n", "UTF-8 ,"},
		{"with a BOM", "\ufeffid,name\r\n1,x", "\ufeffid,name\r\n1,x", "UTF-8 ,"},
		{"quotes and lines stay", "a,b\n\"1\n;2\",\"\"\"\"\n", "a,b\n\"1\n;2\",\"\"\"\"\n", "UTF-8 ,"},
		{"Windows-1252", "id,name\n1,J\xfcrgen \x80\n", "id,name\n1,Jürgen €\n", "Windows-1252 ,"},
		{"Windows-1252 late", "id,name\n" + long + "1,M\xfcller\n", "id,name\n" + long + "1,Müller\n", "Windows-1252 ,"},
		{"UTF-8 first: another byte stays wrong", "id,name\n1,é\n2,\xfc\n", "id,name\n1,é\n2,\xfc\n", "UTF-8 ,"},
		{"a byte that Windows-1252 does not have", "id\n\x81\n", "id\n\x81\n", "UTF-8 ,"},
		{"a cut letter", "id\n1\xc3", "id\n1Ã", "Windows-1252 ,"},
		{"semicolons", "id;name;value;\r\n1;\"a;\nb\";12,50;\r\n;;;\r\n2;\"say \"\"so\"\"\";x\r\n", "id,name,value,\r\n1,\"a;\nb\",\"12,50\",\r\n,,,\r\n2,\"say \"\"so\"\"\",x\r\n", "UTF-8 ;"},
		{"tabs", "id\tname\n1\ta,b\n2\tc", "id,name\n1,\"a,b\"\n2,c", "UTF-8 \t"},
		{"a misplaced quote stays one", "id;name\n1;a\"b,c\n", "id,name\n1,a\"b,c\n", "UTF-8 ;"},
		{"commas win over semicolons in names", "a,b;c,d\n", "a,b;c,d\n", "UTF-8 ,"},
		{"quoted separators do not count", "\"a,b,c\";d\n1;2\n", "\"a,b,c\",d\n1,2\n", "UTF-8 ;"},
		{"sep=;", "sep=;\r\nid;name\r\n1;a,b\r\n", "id,name\r\n1,\"a,b\"\r\n", "UTF-8 ;"},
		{"sep=, with a BOM", "\ufeffSEP=,\nid,name\n", "id,name\n", "UTF-8 ,"},
		{"empty lines first", "\n\r\nid;name\n", "\n\r\nid,name\n", "UTF-8 ;"},
		{"CR ends lines", "\rid,name\r1,x\r" + strings.Repeat("2,y\r", 20_000), "\nid,name\n1,x\n" + strings.Repeat("2,y\n", 20_000), "UTF-8 ,"},
		{"CR ends lines, semicolons", "sep=;\rid;name\r1;a,b\r", "id,name\n1,\"a,b\"\n", "UTF-8 ;"},
		{"a CR within a line stays", "id,name\n1,x\ry\n", "id,name\n1,x\ry\n", "UTF-8 ,"},
		{"gzip with CR", packed("id,name\r1,x"), "id,name\n1,x", "UTF-8 ,"},
		{"UTF-16 LE, tabs", units(binary.LittleEndian, "id\tname\n1\tJürgen 🧑\n"), "id,name\n1,Jürgen 🧑\n", "UTF-16 \t"},
		{"UTF-16 BE", units(binary.BigEndian, "id,name\n"), "id,name\n", "UTF-16 ,"},
		{"UTF-16, half of a pair", "\xff\xfei\x00d\x00\n\x00\x00\xd8a\x00", "id\n\ufffda", "UTF-16 ,"},
		{"UTF-16 JSONL", units(binary.LittleEndian, "{\"a\":1}\n"), "{\"a\":1}\n", "UTF-16"},
		{"JSONL", "{\"a\":\"b;c;d\"}\n", "{\"a\":\"b;c;d\"}\n", "UTF-8"},
		{"JSONL, Windows-1252", "{\"a\":\"\xfc\"}\n", "{\"a\":\"ü\"}\n", "Windows-1252"},
		{"gzip that is fine", packed("id,name\n1,é\n"), packed("id,name\n1,é\n"), "UTF-8 ,"},
		{"gzip with semicolons", packed("id;name\n1;\xfc\n"), "id,name\n1,ü\n", "Windows-1252 ;"},
	} {
		for _, in := range []io.Reader{strings.NewReader(c.file), iotest.OneByteReader(strings.NewReader(c.file)), iotest.DataErrReader(strings.NewReader(c.file))} {
			text, extension, d, err := convert("", in)
			require.NoError(t, err, c.name)
			require.Equal(t, c.text, text, c.name)
			require.Equal(t, c.dialect, d.String(), c.name)
			require.Equal(t, strings.Contains(c.name, "JSONL"), extension == "jsonl", c.name)
			require.Equal(t, c.name == "gzip that is fine", strings.HasSuffix(extension, ".gz"), c.name)
		}
	}
}

// A text with a byte that Windows-1252 does not have is in another encoding, such as Shift JIS: it
// is refused, and not stored with holes.
func TestCopy_OtherEncoding(t *testing.T) {
	t.Parallel()
	_, _, _, err := convert("", strings.NewReader("id,name\n1,J\xfcrgen\n2,\x81\x5b\n"))
	require.Equal(t, core.Invalid("file", "is neither UTF-8 nor Windows-1252; save it as CSV UTF-8 and send it again"), err)
}

// made returns a workbook that excelize has written.
func made(t testing.TB, build func(f *excelize.File)) string {
	t.Helper()
	f := excelize.NewFile()
	defer f.Close()
	build(f)
	var b bytes.Buffer
	require.NoError(t, f.Write(&b))
	return b.String()
}

func TestCopy_Workbook(t *testing.T) {
	t.Parallel()
	style := func(f *excelize.File, code string) int {
		id, err := f.NewStyle(&excelize.Style{CustomNumFmt: &code})
		require.NoError(t, err)
		return id
	}
	set := func(f *excelize.File, at string, v any, code string) {
		require.NoError(t, f.SetCellValue("Sheet1", at, v))
		if code != "" {
			require.NoError(t, f.SetCellStyle("Sheet1", at, at, style(f, code)))
		}
	}
	noon := time.Date(2026, 11, 26, 14, 3, 0, 0, time.UTC)
	for _, c := range []struct {
		name, want string
		build      func(f *excelize.File)
	}{
		{"texts and numbers", "id,name,value,ok\n007,\"a,\"\"b\"\"\nc\",12.5,true\n12345678901234,ü 🧑,0.3,false\n", func(f *excelize.File) {
			require.NoError(t, f.SetSheetRow("Sheet1", "A1", &[]any{"id", "name", "value", "ok"}))
			require.NoError(t, f.SetSheetRow("Sheet1", "A2", &[]any{"007", "a,\"b\"\nc", 12.5, true}))
			require.NoError(t, f.SetSheetRow("Sheet1", "A3", &[]any{12345678901234, "ü 🧑", 0.1 + 0.2, false}))
		}},
		{"dates", "a,b,c,d,e,f\n2026-11-26,2026-11-26T14:03:00,14:03:00,46352,01234,1.5\n", func(f *excelize.File) {
			require.NoError(t, f.SetSheetRow("Sheet1", "A1", &[]any{"a", "b", "c", "d", "e", "f"}))
			set(f, "A2", 46352, "dd.mm.yyyy")
			set(f, "B2", noon, `yyyy\-mm\-dd hh:mm`)
			set(f, "C2", 0.585416666666667, "hh:mm")
			set(f, "D2", 46352, `#,##0 "days"`)
			set(f, "E2", 1234, "00000")
			set(f, "F2", 1.5, "[h]:mm")
		}},
		{"1904", "a\n2026-11-26\n", func(f *excelize.File) {
			yes := true
			require.NoError(t, f.SetWorkbookProps(&excelize.WorkbookPropsOptions{Date1904: &yes}))
			set(f, "A1", "a", "")
			set(f, "A2", 44890, "dd/mm/yyyy")
		}},
		{"empty rows and columns", "\nid,,name\n1,,x\n\n2,,\n", func(f *excelize.File) {
			set(f, "A2", "id", "")
			set(f, "C2", "name", "")
			set(f, "A3", 1, "")
			set(f, "C3", "x", "")
			set(f, "B4", " ", "")
			set(f, "A5", 2, "")
			set(f, "F9", "", "dd.mm.yyyy")
		}},
		{"formulas and errors", "a,b\n3,#N/A\n", func(f *excelize.File) {
			set(f, "A1", "a", "")
			set(f, "B1", "b", "")
			set(f, "A2", 3, "")
			require.NoError(t, f.SetCellFormula("Sheet1", "A2", "1+2"))
			require.NoError(t, f.SetCellFormula("Sheet1", "B2", "NA()"))
		}},
		{"rich text, and an escaped letter", "a b,A\n", func(f *excelize.File) {
			require.NoError(t, f.SetCellRichText("Sheet1", "A1", []excelize.RichTextRun{{Text: "a "}, {Text: "b", Font: &excelize.Font{Bold: true}}}))
			set(f, "B1", "_x0041_", "")
		}},
		{"the first visible sheet", "seen\n", func(f *excelize.File) {
			set(f, "A1", "hidden", "")
			_, err := f.NewSheet("Kunden 2026")
			require.NoError(t, err)
			require.NoError(t, f.SetCellValue("Kunden 2026", "A1", "seen"))
			f.SetActiveSheet(1)
			require.NoError(t, f.SetSheetVisible("Sheet1", false))
		}},
	} {
		book := made(t, c.build)
		if c.name == "formulas and errors" {
			// excelize stores no errors.
			book = edited(t, book, "xl/worksheets/sheet1.xml", func(s string) string {
				require.Contains(t, s, `<c r="B2" t="str"><f>NA()</f>`)
				return strings.Replace(s, `<c r="B2" t="str"><f>NA()</f>`, `<c r="B2" t="e"><f>NA()</f><v>#N/A</v>`, 1)
			})
		}
		text, extension, d, err := convert("list.xlsx", strings.NewReader(book))
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, text, c.name)
		require.Equal(t, "csv", extension)
		require.True(t, d.Workbook())
		if c.name == "the first visible sheet" {
			require.Equal(t, "Kunden 2026", d.Sheet)
		}
	}
}

// A cell without a reference is behind the one before it, also behind an empty one.
func TestCopy_WorkbookWithoutReferences(t *testing.T) {
	t.Parallel()
	const rows = `<row><c t="inlineStr"><is><t>a</t></is></c><c><v>1</v></c><c><v>2</v></c><c><v>3</v></c></row>` +
		`<row><c/><c t="inlineStr"><is><t></t></is></c><c><v>4</v></c><c/></row><row><c r="B3"/><c><v>5</v></c></row>`
	book := edited(t, made(t, func(*excelize.File) {}), "xl/worksheets/sheet1.xml", func(string) string {
		return `<worksheet><sheetData>` + rows + `</sheetData></worksheet>`
	})
	text, _, _, err := convert("list.xlsx", strings.NewReader(book))
	require.NoError(t, err)
	require.Equal(t, "a,1,2,3\n,,4,\n,,5,\n", text)
}

// edited returns a workbook with a part changed; nil removes it.
func edited(t testing.TB, book, part string, edit func(string) string) string {
	t.Helper()
	in, err := zip.NewReader(strings.NewReader(book), int64(len(book)))
	require.NoError(t, err)
	var b bytes.Buffer
	out := zip.NewWriter(&b)
	for _, f := range in.File {
		from, err := f.Open()
		require.NoError(t, err)
		text, err := io.ReadAll(from)
		require.NoError(t, err)
		if f.Name == part {
			if edit == nil {
				continue
			}
			text = []byte(edit(string(text)))
		}
		to, err := out.Create(f.Name)
		require.NoError(t, err)
		_, err = to.Write(text)
		require.NoError(t, err)
	}
	require.NoError(t, out.Close())
	return b.String()
}

// What cannot be read is said, with what to do; and nothing is read without a bound.
func TestOpen_Refused(t *testing.T) {
	t.Parallel()
	const part = "xl/worksheets/sheet1.xml"
	book := made(t, func(f *excelize.File) {
		require.NoError(t, f.SetSheetRow("Sheet1", "A1", &[]any{"id", "name"}))
		require.NoError(t, f.SetSheetRow("Sheet1", "A2", &[]any{1, "x"}))
	})
	archive := func(names ...string) string {
		var b bytes.Buffer
		out := zip.NewWriter(&b)
		for _, name := range names {
			_, _ = out.Create(name)
		}
		_ = out.Close()
		return b.String()
	}
	sheetOf := func(rows string) string {
		return edited(t, book, part, func(string) string { return `<worksheet><sheetData>` + rows + `</sheetData></worksheet>` })
	}
	locked, err := excelize.Encrypt([]byte(book), &excelize.Options{Password: "secret"})
	require.NoError(t, err)
	many := make([]string, 15_000)
	for i := range many {
		many[i] = strings.Repeat("x", 40)
	}
	for name, c := range map[string]struct{ file, want string }{
		"empty":                   {"", "is empty"},
		"password":                {string(locked), "password"},
		"xls":                     {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + strings.Repeat("\x00", 600), "old workbook (.xls)"},
		"another archive":         {archive("a.txt"), "is an archive and no workbook"},
		"OpenDocument":            {archive("mimetype", "content.xml"), "OpenDocument"},
		"xlsb":                    {archive("xl/workbook.bin"), ".xlsb"},
		"truncated":               {book[:len(book)/2], "incomplete or damaged"},
		"no end":                  {"PK\x03\x04", "incomplete or damaged"},
		"a list of many parts":    {archive(many...), "too large for a workbook"},
		"without its sheet":       {edited(t, book, part, nil), "incomplete or damaged"},
		"truncated sheet":         {edited(t, book, part, func(s string) string { return s[:len(s)-30] }), "incomplete or damaged"},
		"entities":                {edited(t, book, part, func(s string) string { return `<!DOCTYPE x [<!ENTITY a "aaaa">]>` + s }), "document type"},
		"unknown entity":          {sheetOf(`<row><c t="inlineStr"><is><t>&a;</t></is></c></row>`), "incomplete or damaged"},
		"zip bomb in a text":      {sheetOf(`<row><c t="inlineStr"><is><t>` + strings.Repeat("a", 16<<20) + `</t></is></c></row>`), "too large for a workbook"},
		"zip bomb in many texts":  {sheetOf(`<row><c t="str"><v>` + strings.Repeat("aaaa<!---->", 1<<20) + `</v></c></row>`), "too large for a workbook"},
		"zip bomb in styles":      {edited(t, book, "xl/styles.xml", func(string) string { return strings.Repeat("<xf/>", 2<<20) }), "too large for a workbook"},
		"shared text that is not": {sheetOf(`<row><c t="s"><v>99</v></c></row>`), "incomplete or damaged"},
		"another end of a row":    {edited(t, book, part, func(s string) string { return strings.Replace(s, "</row>", "</rox>", 1) }), "incomplete or damaged"},
		"another encoding": {edited(t, book, part, func(s string) string {
			return `<?xml version="1.0" encoding="ISO-8859-1"?>` + s[strings.Index(s, "?>")+2:]
		}), "incomplete or damaged"},
		"two values in a cell":    {sheetOf(`<row><c><v>12</v><v>34</v></c></row>`), "incomplete or damaged"},
		"an element in a value":   {sheetOf(`<row><c><v>1<x>2</x>3</v></c></row>`), "incomplete or damaged"},
		"rows out of order":       {sheetOf(`<row r="2"><c><v>1</v></c></row><row r="1"/>`), "incomplete or damaged"},
		"a row far below":         {sheetOf(`<row r="99999999"><c><v>1</v></c></row>`), "incomplete or damaged"},
		"a column far right":      {sheetOf(`<row><c r="XFD1"><v>1</v></c></row>`), "has a value in column 16384 of row 1; a file may have 1000 columns"},
		"output above the limit":  {sheetOf(strings.Repeat(`<row><c r="ALL1"><v>1</v></c></row>`, 10_000)), "is larger than"},
		"input above the limit":   {strings.Repeat("a", limit+1), "is larger than"},
		"gzip above the limit":    {packed("a;b\n" + strings.Repeat("a;b\n", limit/4)), "is larger than"},
		"growing above the limit": {strings.Repeat("\xfc", limit/2+1), "is larger than"},
		"a field without end":     {"a;b\n" + strings.Repeat("a", 2<<20), "has a field of more than 1 MiB"},
		"half a letter":           {"\xff\xfea\x00b", "in the middle of a letter"},
	} {
		_, _, _, err := convert("f.xlsx", strings.NewReader(c.file))
		var known *core.Error
		require.ErrorAs(t, err, &known, name)
		require.Equal(t, "file", known.Field, name)
		require.Contains(t, known.Message, c.want, name)
	}
	// An error of the sender's connection is none of the file.
	broken := errors.New("the connection is gone")
	for _, file := range []string{"a,b\n", "a;b\n", book[:100]} {
		_, _, _, err := convert("", io.MultiReader(strings.NewReader(file), iotest.ErrReader(broken)))
		require.ErrorIs(t, err, broken)
	}
}

// FuzzCopy: no file makes it panic, and a workbook's rows have only fields that can be read.
func FuzzCopy(f *testing.F) {
	book := made(f, func(x *excelize.File) { _ = x.SetSheetRow("Sheet1", "A1", &[]any{"id", "a\"b", 1.5}) })
	for _, seed := range []string{"a;b\n1;2", "\xff\xfea\x00;\x00", "a\tb\n\"", "{\"a\":1}", book} {
		f.Add(seed)
	}
	f.Fuzz(func(_ *testing.T, file string) { _, _, _, _ = convert("", strings.NewReader(file)) })
}

// BenchmarkCopy compares a file that is copied as it is with the copy alone, and with files
// that are converted.
func BenchmarkCopy(b *testing.B) {
	plain := "accountId,id,firstName,email\n" + strings.Repeat("acct-1,user-1,Ada,ada@example.com\n", 300_000)
	book := made(b, func(f *excelize.File) {
		w, _ := f.NewStreamWriter("Sheet1")
		for i := 1; i <= 50_000; i++ {
			at, _ := excelize.CoordinatesToCellName(1, i)
			_ = w.SetRow(at, []any{"acct-1", i, "Ada", "ada@example.com"})
		}
		_ = w.Flush()
	})
	for name, file := range map[string]string{
		"as it is": plain, "semicolons": strings.ReplaceAll(plain, ",", ";"), "Windows-1252": strings.Replace(plain, "Ada", "\xc4da", 1),
		"UTF-16": units(binary.LittleEndian, plain), "workbook": book, "alone": "",
	} {
		b.Run(name, func(b *testing.B) {
			if name == "alone" {
				b.SetBytes(int64(len(plain)))
				for b.Loop() {
					_, _ = io.Copy(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{strings.NewReader(plain)})
				}
				return
			}
			b.SetBytes(int64(len(file)))
			for b.Loop() {
				f, err := sheet.Open("", struct{ io.Reader }{strings.NewReader(file)}, 1<<30)
				if err == nil {
					_, err = f.Copy(struct{ io.Writer }{io.Discard})
				}
				require.NoError(b, err)
			}
		})
	}
}
