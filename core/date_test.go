package core

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// ParseDate agrees with time.Parse on each form, for valid and for spoilt texts.
func TestParseDate(t *testing.T) {
	layouts := []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", time.DateOnly}
	check := func(text string) {
		var want Time
		valid := false
		for _, layout := range layouts {
			if at, err := time.Parse(layout, text); err == nil && at.UnixMilli() >= 0 {
				want, valid = Time(at.UnixMilli()), true
			}
		}
		if got, ok := ParseDate(text); ok != valid || ok && got != want {
			t.Errorf("%q: %d, %v; want %d, %v", text, got, ok, want, valid)
		}
	}
	for _, text := range []string{
		"1970-01-01", "2026-03-01", "2000-02-29", "1900-02-29", "2100-02-29", "2026-02-29", "2026-04-31", "2026-13-01", "2026-00-10", "2026-1-1", "",
		"2026-03-01T09:00:00Z", "2026-03-01T09:00:00.5Z", "2026-03-01T09:00:00.1234567+05:30", "2026-03-01T09:00:00-23:59", "2026-03-01T09:00:00+1:00",
		"2026-03-01T24:00:00Z", "2026-03-01T09:60:00Z", "2026-03-01T09:00:60Z", "2026-03-01T09:00Z", "2026-03-01T09:00:00.Z", "2026-03-01T", "2026-03-01x",
		"1969-12-31T23:59:59Z", "1970-01-01T00:00:00+01:00", "2026-03-01T09:00:00Zx", "9999-12-31T23:59:59Z", "20260301", "tomorrow", "2026-03-01 09:00:00",
	} {
		check(text)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		at := time.UnixMilli(r.Int64N(4e12)).In(time.FixedZone("", (r.IntN(2*1439)-1439)*60))
		text := at.Format(layouts[r.IntN(len(layouts))])
		if r.IntN(3) == 0 {
			i := r.IntN(len(text))
			text = text[:i] + fmt.Sprint(r.IntN(10)) + text[i+1:]
		}
		check(text)
	}
}

// The digits of a date are no milliseconds; times that a shop has are.
func TestCheckMillis(t *testing.T) {
	for n, want := range map[int64]string{
		20260301: "a date", 19000101: "a date", 20240229: "a date", 21001231: "a date", 202603011200: "a date", 197603012359: "a date", 20260301120000: "a date",
		1772355600: "seconds", 1772355600000000: "microseconds", math.MaxInt64: "microseconds",
		0: "", 7: "", -1: "", math.MinInt64: "", 18991231: "", 21010101: "", 20261301: "", 20260001: "", 20260300: "", 20260229: "", 20260431: "", 202603012400: "",
		202603011260: "", 20260301120060: "", 1772355600000: "", 2026030112000: "", 978307200000: "", 631152000000: "", 946684800000: "",
	} {
		err := CheckMillis("f", n)
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), fmt.Sprintf("f: milliseconds expected: %d looks like %s", n, want)) {
			t.Errorf("%d: %v, want %q", n, err, want)
		}
	}
}
