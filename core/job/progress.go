package job

import "kith/core"

// Progress is how far a pending job is.
type Progress struct {
	// Percent is from 0 to 100, and valid only if the job's Total is known.
	Percent int
	// Rate is the average number of records a second since the job began; 0: unknown.
	Rate int64
	// Left is the time until the job ends if it continues at this rate, at most maxLeft;
	// 0: unknown.
	Left core.Time
}

// maxLeft bounds Progress.Left. It only keeps the result a number: the estimate of a job that
// has hardly begun may be arbitrarily long.
const maxLeft = 1000 * core.Day

// Progress returns how far a job is at a time. It depends on the stored job only, so that
// each page and each process shows the same.
func (j Job) Progress(now core.Time) (p Progress) {
	if j.Total > 0 {
		p.Percent = int(min(j.Stats.Processed, j.Total) * 100 / j.Total)
	}
	took := now - j.Started
	if j.Started == 0 || took <= 0 || j.Stats.Processed == 0 {
		return p
	}
	p.Rate = j.Stats.Processed * int64(core.Second) / int64(took)
	if rest := j.Total - j.Stats.Processed; rest > 0 {
		p.Left = max(core.Second, core.Time(min(float64(maxLeft), float64(took)*float64(rest)/float64(j.Stats.Processed))))
	}
	return p
}
