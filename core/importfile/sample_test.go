package importfile

import (
	"slices"
	"testing"

	"kith/core/job"
)

// Every type of import has a sample with a valid header.
func TestSample(t *testing.T) {
	for _, typ := range job.Types() {
		if !typ.Import() {
			continue
		}
		columns := SampleColumns(typ)
		l, problems := ParseHeader(typ, columns, nil)
		if len(columns) == 0 || len(problems) > 0 {
			t.Errorf("%s: %v %v", typ, columns, problems)
		}
		seen := map[string]bool{}
		for n := range int64(100) {
			row := SampleRow(typ, n)
			if _, e := l.Row(row); e != nil {
				t.Errorf("%s: %v", typ, e)
			}
			if !slices.Equal(row, SampleRow(typ, n)) || seen[row[1]] {
				t.Errorf("%s: row %d is not deterministic or not unique", typ, n)
			}
			seen[row[1]] = true
		}
	}
}
