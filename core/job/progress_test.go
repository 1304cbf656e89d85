package job

import (
	"testing"

	"kith/core"
)

func TestJob_Progress(t *testing.T) {
	began := func(total, processed int64) Job {
		return Job{Status: Pending, Started: now, Total: total, Stats: Stats{Processed: processed}}
	}
	for _, c := range []struct {
		name  string
		job   Job
		after core.Time
		want  Progress
	}{
		{"waits", Job{Status: Pending, Total: 10}, core.Minute, Progress{}},
		{"reads its file", began(0, 0), core.Minute, Progress{}},
		{"no row yet", began(100, 0), core.Minute, Progress{}},
		{"same moment", began(100, 10), 0, Progress{Percent: 10}},
		{"clock went back", began(100, 10), -core.Minute, Progress{Percent: 10}},
		{"a quarter", began(1000, 250), 10 * core.Second, Progress{Percent: 25, Rate: 25, Left: 30 * core.Second}},
		{"unknown total", began(0, 500), 10 * core.Second, Progress{Rate: 50}},
		{"nearly done", began(1_000_000, 999_999), 100 * core.Second, Progress{Percent: 99, Rate: 9999, Left: core.Second}},
		{"all rows", began(10, 10), core.Second, Progress{Percent: 100, Rate: 10}},
		{"more than counted", began(10, 12), core.Second, Progress{Percent: 100, Rate: 12}},
		{"a thousand years of rows", began(1<<50, 1<<20), 1000 * core.Day, Progress{Left: maxLeft}},
	} {
		if got := c.job.Progress(now + c.after); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
