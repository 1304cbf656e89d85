package importfile

import (
	"strings"
	"testing"

	"kith/core/job"
)

func TestShortValue(t *testing.T) {
	for value, want := range map[string]string{
		"": "", strings.Repeat("a", 80): strings.Repeat("a", 80), strings.Repeat("a", 81): strings.Repeat("a", 80) + "…",
		"a" + strings.Repeat("é", 60): "a" + strings.Repeat("é", 39) + "…",
	} {
		if got := ShortValue(value); got != want {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
	}
}

// The column with the problem of a rejected row is ignored by imports of each type.
func TestParseHeader_IgnoresTheProblemColumn(t *testing.T) {
	for _, typ := range job.Types() {
		if !typ.Import() {
			continue
		}
		l, problems := ParseHeader(typ, append(SampleColumns(typ), ProblemColumn), nil)
		if last := l.Columns[len(l.Columns)-1]; len(problems) > 0 || !last.Ignored || last.Name() != ProblemColumn {
			t.Errorf("%s: %v %+v", typ, problems, last)
		}
	}
}
