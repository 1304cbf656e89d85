package core

import "testing"

func TestParseSpan(t *testing.T) {
	for s, want := range map[string]Span{
		"0": {0, 1}, "1": {1, 2}, "1772355600000": {1772355600000, 1772355600001}, "0,12341245": {0, 12341246}, "5,5": {5, 6}, "2026-03-01,2026-03-01T10:00:00+01:00": {1772323200000, 1772355600001},
	} {
		if got, err := ParseSpan("f", s); err != nil || got != want || got.Open() {
			t.Errorf("%s: %+v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", ",", "1,", ",1", "2,1", "-1", "-1,1", "1,2,3", "1.5", "1e3", " 1", "9223372036854775807", "99999999999999999999", "1700000000", "1700000000,1900000000000", "0,1700000000"} {
		if got, err := ParseSpan("f", s); err == nil {
			t.Errorf("%q is accepted as %+v", s, got)
		}
	}
}
