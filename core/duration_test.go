package core

import "testing"

func TestParseDuration(t *testing.T) {
	for s, want := range map[string]Time{
		"P30D": 30 * Day, "P1W": 7 * Day, "PT12H": 12 * Hour, "PT90M": 90 * Minute, "PT45S": 45 * Second,
		"P1DT2H3M4S": Day + 2*Hour + 3*Minute + 4*Second, "P2W1D": 15 * Day, "P36500D": 36500 * Day, "PT0S": 0, "P007D": 7 * Day,
	} {
		if got, err := ParseDuration("f", s); err != nil || got != want {
			t.Errorf("%s: %d, %v, want %d", s, got, err, want)
		}
	}
	for _, s := range []string{
		"", "P", "PT", "P1", "30D", "P30", "PD", "P1Y", "P1M", "PT1D", "P1H", "P1DT", "PTT1H", "P1D2D", "PT1M1H", "P-1D", "P1.5D",
		"p1d", "P1D ", "P36501D", "PT99999999999H", "P1DT1H1M1S1S", "P1D\x00",
	} {
		if got, err := ParseDuration("f", s); err == nil {
			t.Errorf("%q is accepted as %d", s, got)
		}
	}
}

// ParseDuration reads what FormatDuration writes.
func TestFormatDuration(t *testing.T) {
	for d, want := range map[Time]string{
		0: "PT0S", 999: "PT0S", Second: "PT1S", 1999: "PT1S", Minute: "PT1M", Hour: "PT1H", 25 * Hour: "P1DT1H", 30 * Day: "P30D",
		Day + Second: "P1DT1S", 36500 * Day: "P36500D",
	} {
		got := FormatDuration(d)
		if got != want {
			t.Errorf("%d: %s, want %s", d, got, want)
		}
		if back, err := ParseDuration("f", got); err != nil || back != d/Second*Second {
			t.Errorf("%s is read as %d, %v", got, back, err)
		}
	}
}
