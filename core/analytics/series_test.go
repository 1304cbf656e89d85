package analytics

import (
	"errors"
	"testing"
	"time"

	"kith/core"
)

func at(t *testing.T, text string) core.Time {
	t.Helper()
	if text == "" {
		return 0
	}
	parsed, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return core.Time(parsed.UnixMilli())
}

func TestNewPeriod(t *testing.T) {
	const sunday = "2026-03-01T09:00:00Z"
	for _, c := range []struct {
		name              string
		interval          Interval
		from, until       string
		wantFrom, wantEnd string
		points            int
	}{
		{"the last 30 days", Daily, "", "", "2026-01-31T00:00:00Z", "2026-03-02T00:00:00Z", 30},
		{"the last 13 weeks", Weekly, "", "", "2025-12-01T00:00:00Z", "2026-03-02T00:00:00Z", 13},
		{"whole days", Daily, "2026-02-01T23:59:59Z", "2026-02-03T00:00:00.001Z", "2026-02-01T00:00:00Z", "2026-02-04T00:00:00Z", 3},
		{"until is not included", Daily, "2026-02-01T00:00:00Z", "2026-02-03T00:00:00Z", "2026-02-01T00:00:00Z", "2026-02-03T00:00:00Z", 2},
		{"weeks begin on Monday", Weekly, "2026-02-22T12:00:00Z", "2026-02-23T00:00:00.001Z", "2026-02-16T00:00:00Z", "2026-03-02T00:00:00Z", 2},
		{"the first ISO week of 2027", Weekly, "2027-01-04T00:00:00Z", "2027-01-05T00:00:00Z", "2027-01-04T00:00:00Z", "2027-01-11T00:00:00Z", 1},
		{"the week before it", Weekly, "2027-01-03T00:00:00Z", "2027-01-04T00:00:00Z", "2026-12-28T00:00:00Z", "2027-01-04T00:00:00Z", 1},
		{"400 days", Daily, "2025-01-26T00:00:00Z", "2026-03-02T00:00:00Z", "2025-01-26T00:00:00Z", "2026-03-02T00:00:00Z", 400},
		{"before the first Monday", Weekly, "1970-01-02T00:00:00Z", "1970-01-06T00:00:00Z", "1969-12-29T00:00:00Z", "1970-01-12T00:00:00Z", 2},
	} {
		got, err := NewPeriod(c.interval, at(t, c.from), at(t, c.until), at(t, sunday))
		want := Period{Interval: c.interval, From: at(t, c.wantFrom), Until: at(t, c.wantEnd)}
		if err != nil || got != want || got.Points() != c.points {
			t.Errorf("%s: %+v with %d points, %v; want %+v with %d", c.name, got, got.Points(), err, want, c.points)
		}
	}
	for _, c := range []struct {
		interval    Interval
		from, until string
		field       string
	}{
		{Daily, "2025-01-25T23:59:59Z", "2026-03-02T00:00:00Z", "from"},
		{Weekly, "2017-01-01T00:00:00Z", "", "from"},
		{Daily, "2026-03-01T00:00:00Z", "2026-03-01T00:00:00Z", "until"},
		{Weekly, "2026-03-01T10:00:00Z", "", "until"},
	} {
		_, err := NewPeriod(c.interval, at(t, c.from), at(t, c.until), at(t, sunday))
		var e *core.Error
		if !errors.As(err, &e) || e.Code != core.CodeInvalid || e.Field != c.field {
			t.Errorf("%s from %q until %q: %v", c.interval, c.from, c.until, err)
		}
	}
}

func TestNewSeries(t *testing.T) {
	p, err := NewPeriod(Weekly, at(t, "2026-02-20T00:00:00Z"), at(t, "2026-03-03T00:00:00Z"), 1)
	if err != nil {
		t.Fatal(err)
	}
	s := NewSeries(p, false)
	for i, want := range []string{"2026-02-16T00:00:00Z", "2026-02-23T00:00:00Z", "2026-03-02T00:00:00Z"} {
		if s.Points[i].Start != at(t, want) {
			t.Errorf("point %d starts at %d, want %s", i, s.Points[i].Start, want)
		}
	}
	if len(s.Points) != 3 {
		t.Errorf("%d points", len(s.Points))
	}
}

func TestParseInterval(t *testing.T) {
	for s, want := range map[string]Interval{"": Daily, "day": Daily, "week": Weekly} {
		if got, err := ParseInterval("interval", s); err != nil || got != want {
			t.Errorf("%q: %q, %v", s, got, err)
		}
	}
	if got, err := ParseInterval("interval", "month"); err == nil {
		t.Errorf("month: %q", got)
	}
}

func TestParseRank(t *testing.T) {
	for s, want := range map[string]Rank{"": ByConverted, "converted": ByConverted, "joined": ByJoined, "visits": ByVisits} {
		if got, err := ParseRank("by", s); err != nil || got != want {
			t.Errorf("%q: %q, %v", s, got, err)
		}
	}
	if got, err := ParseRank("by", "cost"); err == nil {
		t.Errorf("cost: %q", got)
	}
}
