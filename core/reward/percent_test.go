package reward

import "testing"

func TestParsePercent(t *testing.T) {
	for s, want := range map[string]BasisPoints{
		"0": 0, "10": 1000, "12.5": 1250, "12.50": 1250, "0.01": 1, "100": 10000, "100.00": 10000, "99.99": 9999, "007": 700,
	} {
		if got, err := ParsePercent("f", s); err != nil || got != want {
			t.Errorf("%s: %d, %v, want %d", s, got, err, want)
		}
	}
	for _, s := range []string{"", ".", ".5", "5.", "-1", "+1", "1e1", "100.01", "101", "1.234", "1.2.3", " 1", "1_0", "99999999999999999999", "1.-1"} {
		if got, err := ParsePercent("f", s); err == nil {
			t.Errorf("%q is accepted as %d", s, got)
		}
	}
}

// ParsePercent reads what String writes.
func TestParsePercent_ReadsWhatIsWritten(t *testing.T) {
	for b := BasisPoints(0); b <= 10000; b++ {
		if got, err := ParsePercent("f", b.String()); err != nil || got != b {
			t.Fatalf("%d is written %s and read %d, %v", b, b, got, err)
		}
	}
}
