package importfile

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

// dribble is a reader that returns at most n bytes at a time.
type dribble struct {
	text string
	n    int
}

// The bytes of consecutive empty lines are limited.
func TestReader_EmptyLinesAreBounded(t *testing.T) {
	for lines, want := range map[int]bool{MaxRecord: true, MaxRecord + 1: false} {
		r := NewReader(JSONL, strings.NewReader("{}\n"+strings.Repeat("\n", lines)+"{}"), Place{})
		if _, err := r.Line(); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Line(); (err == nil) != want {
			t.Errorf("%d empty lines: %v", lines, err)
		}
	}
}

func (d *dribble) Read(p []byte) (int, error) {
	if d.text == "" {
		return 0, io.EOF
	}
	n := copy(p, d.text[:min(d.n, len(d.text))])
	d.text = d.text[n:]
	return n, nil
}

// read returns all records of a CSV file, the header first, and the error that ended
// it.
func read(text string, n int) (rows [][]string, err error) {
	r := NewReader(CSV, &dribble{text, n}, Place{})
	for {
		line, err := r.Line()
		if err != nil {
			return rows, err
		}
		cells, err := r.Cells(line)
		if err != nil {
			return rows, err
		}
		rows = append(rows, slices.Clone(cells))
	}
}

func TestReader_CSV(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       [][]string
	}{
		{"LF", "a,b\n1,2\n", [][]string{{"a", "b"}, {"1", "2"}}},
		{"CRLF", "a,b\r\n1,2\r\n", [][]string{{"a", "b"}, {"1", "2"}}},
		{"no end of line", "a,b\n1,2", [][]string{{"a", "b"}, {"1", "2"}}},
		{"BOM", "\ufeffa,b\n1,2\n", [][]string{{"a", "b"}, {"1", "2"}}},
		{"BOM and quotes", "\ufeff\"a\",b\n", [][]string{{"a", "b"}}},
		{"quotes", "a,b\n\"1,1\",\"say \"\"so\"\"\"\n", [][]string{{"a", "b"}, {"1,1", `say "so"`}}},
		{"lines within quotes", "a,b\n\"1\r\n\n2\",\"\"\n3,4\n", [][]string{{"a", "b"}, {"1\r\n\n2", ""}, {"3", "4"}}},
		{"empty cells", "a,b\n,1\n\"\",\n", [][]string{{"a", "b"}, {"", "1"}, {"", ""}}},
		{"empty rows", ",,\na,b\n,\n1,2\n , \t\n,,\n", [][]string{{"a", "b"}, {"1", "2"}}},
		{"empty lines", "\n\r\na,b\n\n1,2\n\n", [][]string{{"a", "b"}, {"1", "2"}}},
		{"more and fewer cells", "a,b\n1\n1,2,3\n", [][]string{{"a", "b"}, {"1"}, {"1", "2", "3"}}},
		{"blanks stay", "a, b \n 1 ,2\n", [][]string{{"a", " b "}, {" 1 ", "2"}}},
		{"wide letters", "ä,🧑‍🚀\n", [][]string{{"ä", "🧑‍🚀"}}},
		{"empty", "", nil},
		{"BOM alone", "\ufeff", nil},
	} {
		for _, n := range []int{1, 2, 3, 1000} {
			got, err := read(c.text, n)
			if err != io.EOF || !slices.EqualFunc(got, c.want, slices.Equal) {
				t.Errorf("%s, %d bytes at a time: %q, %v\nwant %q", c.name, n, got, err, c.want)
			}
		}
	}
}

func TestReader_Problems(t *testing.T) {
	long := strings.Repeat("x", MaxRecord)
	for _, c := range []struct{ name, text, want string }{
		{"quote that is not closed", "a\n1\n\"2\n3\n4\n", "row 3: a quote is missing at the end of a field"},
		{"quote that is not closed, in the header", "\"a\n1\n", "row 1: a quote is missing at the end of a field"},
		{"quote within a field", "a,b\nscreen 15\",x\n1,2\"\n", "row 2: has a quote within a field without quotes; enclose the field in quotes, and write each quote in it twice"},
		{"quote and more", "a\n\"1\"2\n", "row 2: has text after the closing quote of a field; write each quote within the field twice, and check that no quote is missing"},
		{"one quote within a field", "a,b\nx,5\" screen\ny,z\n", "row 2: has a quote within a field without quotes; enclose the field in quotes, and write each quote in it twice"},
		{"one quote within a field, and a long rest", "a,b\nx,5\" screen\n" + strings.Repeat("y,z\n", MaxRecord), "row 2: has a quote within a field without quotes; enclose the field in quotes, and write each quote in it twice"},
		{"three quotes", "a\n\"1\"2\"\n", "row 2: has text after the closing quote of a field; write each quote within the field twice, and check that no quote is missing"},
		{"not UTF-8", "a\n1\n\xff\n", "row 3: is not UTF-8; save the file with that encoding"},
		{"UTF-16", "\xff\xfea\x00\n\x00", "row 1: is not UTF-8; save the file with that encoding"},
		{"a field above the limit", "a\n1\n" + long + "\n", "row 3: is longer than 1 MiB; a quote may be missing at the end of a field"},
		{"a quoted field far above the limit", "a\n1\n\"" + strings.Repeat(long, 10) + "\"\n", "row 3: is longer than 1 MiB; a quote may be missing at the end of a field"},
		{"a last field without an end", "a\n1\n" + long + "x", "row 3: is longer than 1 MiB; a quote may be missing at the end of a field"},
	} {
		_, err := read(c.text, 1<<16)
		var p Problem
		if !errors.As(err, &p) || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

// A record of MaxRecord bytes, with its line end, is accepted.
func TestReader_LongestRecord(t *testing.T) {
	want := strings.Repeat("x", MaxRecord-1)
	rows, err := read("a\n"+want+"\n1\n", 1000)
	if err != io.EOF || len(rows) != 3 || rows[1][0] != want || rows[2][0] != "1" {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}

// An error of the underlying reader is returned as it is, not as a Problem.
func TestReader_ReadError(t *testing.T) {
	broken := errors.New("the disk is gone")
	r := NewReader(CSV, io.MultiReader(strings.NewReader("a\n1"), failing{broken}), Place{})
	if _, err := r.Line(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Line(); err != broken {
		t.Errorf("%v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestReader_JSONL(t *testing.T) {
	r := NewReader(JSONL, strings.NewReader("\ufeff{\"a\":1}\r\n\n  {\"b\":\"\\\"\"}  \n{\"c\":[\n"), Place{})
	for i, want := range []string{`{"a":1}`, `{"b":"\""}`, `{"c":[`} {
		line, err := r.Line()
		if err != nil || string(line) != want || r.Record() != int64(i+1) {
			t.Errorf("record %d: %q, %v", r.Record(), line, err)
		}
	}
	if _, err := r.Line(); err != io.EOF {
		t.Error(err)
	}
}

// A reader that starts at a returned position continues where the first one stopped.
func TestReader_ContinuesAtPosition(t *testing.T) {
	const text = "\ufeffa,b\r\n1,\"x\ny\"\n\n2,\"\"\"\"\n3,z"
	whole := NewReader(CSV, strings.NewReader(text), Place{})
	for {
		if _, err := whole.Line(); err == io.EOF {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		rest := NewReader(CSV, strings.NewReader(text[whole.Position():]), whole.Place())
		next := *whole
		next.from = strings.NewReader("")
		a, errA := rest.Line()
		b, errB := (&next).Line()
		if string(a) != string(b) || errA != errB || rest.Place() != next.Place() {
			t.Errorf("after record %d: %q, %v; %q, %v", whole.Record(), a, errA, b, errB)
		}
	}
}

func TestFormatOf(t *testing.T) {
	for _, c := range []struct {
		name, beginning string
		want            Format
	}{
		{"users.csv", "{", CSV}, {"users.CSV.GZ", "", CSV}, {"users.jsonl", "a,b", JSONL}, {"users.ndjson.gz", "", JSONL},
		{"", "\ufeff \n{\"a\":1}", JSONL}, {"", "a,b", CSV}, {"", "", CSV}, {"users.txt", "{", JSONL}, {"", "a{", CSV},
	} {
		if got := FormatOf(c.name, []byte(c.beginning)); got != c.want {
			t.Errorf("%q %q: %s", c.name, c.beginning, got)
		}
	}
	if !Packed([]byte{0x1f, 0x8b, 8, 0}) || Packed([]byte("a,b")) || Packed(nil) {
		t.Error("Packed")
	}
}
