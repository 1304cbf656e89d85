//go:build !tinygo

package importfile

import (
	"encoding/csv"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"kith/core/job"
)

// Reader accepts what encoding/csv accepts, and returns the same fields, but no rows without any. It differs
// in carriage returns before line ends within quotes, which Reader keeps, so files
// with carriage returns are left out.
func FuzzReader_CSV(f *testing.F) {
	for _, seed := range []string{"a,b\n1,2\n", "\"a\"\"b\",c\n\n", "a\n\"", "a\"b\n", "\"a\"b\n", ",\n,", "\ufeffa\n"} {
		f.Add(seed, 3)
	}
	f.Fuzz(func(t *testing.T, text string, n int) {
		if strings.Contains(text, "\r") || !utf8.ValidString(text) || n < 1 {
			return
		}
		got, err := read(text, n)
		std := csv.NewReader(strings.NewReader(strings.TrimPrefix(text, bom)))
		std.FieldsPerRecord = -1
		want, stdErr := std.ReadAll()
		if (err == io.EOF) != (stdErr == nil) {
			t.Fatalf("%q: %v, and encoding/csv: %v", text, err, stdErr)
		}
		empty := func(row []string) bool { return strings.Trim(strings.Join(row, ""), " \t") == "" }
		got, want = slices.DeleteFunc(got, empty), slices.DeleteFunc(want, empty)
		if err == io.EOF && !slices.EqualFunc(got, want, slices.Equal) {
			t.Fatalf("%q: %q, and encoding/csv: %q", text, got, want)
		}
	})
}

// ParseHeader does not panic, and a header without problems has a column for each
// name, and a row a cell for each column.
func FuzzParseHeader(f *testing.F) {
	f.Add("accountId,id,customFields.a")
	f.Fuzz(func(t *testing.T, line string) {
		names := strings.Split(line, ",")
		for _, typ := range []job.Type{job.ImportUser, job.ImportDelete, job.ImportUserEvent, job.ImportRedeem} {
			for _, m := range []Mapping{nil, {"accountId": names[0], "customFields.x": names[0]}} {
				l, problems := ParseHeader(typ, names, m)
				if len(problems) > 0 {
					continue
				}
				if len(l.Columns)-len(l.from) != len(l.Names) {
					t.Fatalf("%q: %d columns", line, len(l.Columns))
				}
				if cells, err := l.Row(append([]string(nil), l.Names...)); err == nil && len(cells) != len(l.Columns) {
					t.Fatalf("%q: %d cells", line, len(cells))
				}
			}
		}
	})
}
