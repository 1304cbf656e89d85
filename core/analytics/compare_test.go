package analytics

import (
	"errors"
	"math"
	"testing"

	"kith/core"
)

func TestParsePreset(t *testing.T) {
	if p, err := ParsePreset("period", ""); err != nil || p != Days30 {
		t.Errorf("unset: %q, %v", p, err)
	}
	for _, want := range Presets() {
		if p, err := ParsePreset("period", string(want)); err != nil || p != want || p.Describe() == "" {
			t.Errorf("%q: %q, %v", want, p, err)
		}
		if (want.Days() == 0) != (want == OwnDates) {
			t.Errorf("%q has %d days", want, want.Days())
		}
	}
	_, err := ParsePreset("period", "8d")
	var e *core.Error
	if !errors.As(err, &e) || e.Code != core.CodeInvalid || e.Field != "period" {
		t.Errorf("8d: %v", err)
	}
}

func TestPeriod_Readable(t *testing.T) {
	for days, want := range map[core.Time]Interval{1: Daily, 92: Daily, 93: Weekly, 365: Weekly} {
		if got := (Period{Interval: Daily, Until: days * core.Day}).Readable(); got != want {
			t.Errorf("%d days: %s", days, got)
		}
	}
}

// A series of a period and the one before it has two halves of the same length.
func TestSeries_Halves(t *testing.T) {
	p, err := NewPeriod(Daily, at(t, "2026-03-01T00:00:00Z"), at(t, "2026-03-04T00:00:00Z"), 1)
	if err != nil {
		t.Fatal(err)
	}
	s := NewSeries(p.WithPrevious(), false)
	if len(s.Points) != 6 {
		t.Fatalf("%d points", len(s.Points))
	}
	for i := range s.Points {
		s.Points[i].Joined = int64(i)
	}
	before, now := s.Halves()
	if now.Period != p || len(now.Points) != 3 || now.Points[0].Start != p.From || now.Total().Joined != 3+4+5 {
		t.Errorf("now: %+v", now)
	}
	if before.Until != p.From || before.From != at(t, "2026-02-26T00:00:00Z") || before.Total().Joined != 0+1+2 {
		t.Errorf("before: %+v", before)
	}
}

// The weeks of a series have the same sum as its days, and only days of the series. Those
// of the period before have as many days, wherever its own weeks begin.
func TestWeeks(t *testing.T) {
	// A Friday and a Tuesday.
	p, err := NewPeriod(Daily, at(t, "2026-02-20T00:00:00Z"), at(t, "2026-03-04T00:00:00Z"), 1)
	if err != nil {
		t.Fatal(err)
	}
	both := NewSeries(p.WithPrevious(), false)
	for i := range both.Points {
		both.Points[i] = Point{Start: both.Points[i].Start, Visits: 1, BotVisits: 2, Joined: 3, Converted: 4, Rewards: []Cost{{"CENTS", "USD", 5}, {"CENTS", "EUR", 6}}}
	}
	before, now := Weeks(both.Halves())
	for _, c := range []struct {
		Series
		starts [3]string
	}{
		{before, [3]string{"2026-02-08T00:00:00Z", "2026-02-11T00:00:00Z", "2026-02-18T00:00:00Z"}},
		{now, [3]string{"2026-02-20T00:00:00Z", "2026-02-23T00:00:00Z", "2026-03-02T00:00:00Z"}},
	} {
		if c.Interval != Weekly || len(c.Points) != 3 {
			t.Fatalf("%+v", c)
		}
		for i, days := range []int64{3, 7, 2} {
			if got := c.Points[i]; got.Start != at(t, c.starts[i]) || got.Visits != days || got.CostIn("CENTS", "EUR") != 6*days {
				t.Errorf("week %d: %+v", i, got)
			}
		}
		total := c.Total()
		if total.Visits != 12 || total.BotVisits != 24 || total.Joined != 36 || total.Converted != 48 ||
			len(total.Rewards) != 2 || total.CostIn("CENTS", "USD") != 60 || total.CostIn("POINT", "") != 0 {
			t.Errorf("total: %+v", total)
		}
	}
	if both.Points[0].CostIn("CENTS", "USD") != 5 {
		t.Error("a sum changed the points")
	}
}

func TestChange(t *testing.T) {
	for _, c := range []struct {
		before, now, want int64
		ok                bool
	}{
		{0, 0, 0, false}, {0, 5, 0, false}, {-1, 5, 0, false}, {4, 5, 25, true}, {5, 4, -20, true}, {3, 4, 33, true}, {3, 2, -33, true},
		{7, 7, 0, true}, {5, 0, -100, true}, {5, -5, -200, true}, {30, 16, -47, true}, {3, 5, 67, true}, {1, math.MaxInt64, 0, false}, {math.MaxInt64, 1, 0, false}, {1, math.MinInt64, 0, false},
		{1, math.MaxInt64 / 201, math.MaxInt64/201*100 - 100, true}, {math.MaxInt64 / 201, -math.MaxInt64 / 201, -200, true}, {math.MaxInt64/201 + 1, 1, 0, false},
	} {
		if got, ok := Change(c.before, c.now); got != c.want || ok != c.ok {
			t.Errorf("from %d to %d: %d, %t; want %d, %t", c.before, c.now, got, ok, c.want, c.ok)
		}
	}
}

func TestShare(t *testing.T) {
	for _, c := range []struct {
		part, whole, want int64
		ok                bool
	}{
		{0, 0, 0, false}, {1, 0, 0, false}, {0, 5, 0, true}, {5, 5, 1000, true}, {1, 3, 333, true}, {2, 3, 667, true}, {107, 1414, 76, true}, {9999, 10_000, 999, true}, {6, 5, 0, false}, {-1, 5, 0, false},
		{math.MaxInt64, math.MaxInt64, 0, false}, {math.MaxInt64 / 2000, math.MaxInt64 / 1001, 500, true}, {1, math.MaxInt64/1001 + 1, 0, false},
	} {
		if got, ok := Share(c.part, c.whole); got != c.want || ok != c.ok {
			t.Errorf("%d of %d: %d, %t; want %d, %t", c.part, c.whole, got, ok, c.want, c.ok)
		}
	}
}
