package overview

import (
	"html/template"
	"slices"

	"kith/core"
	"kith/core/analytics"
)

// chart is a figure by day or week, now and before. Its JSON is what asset/chart.js draws;
// the page has the same numbers as a table.
type chart struct {
	// Label is the figure: "Joined by day".
	Label string `json:"label"`
	// Starts are the beginnings of the points in seconds, and StartsBefore those of the period
	// before.
	Starts       []int64 `json:"starts"`
	StartsBefore []int64 `json:"startsBefore"`
	Now          []int64 `json:"now"`
	Before       []int64 `json:"before"`
	rows         []row
	weekly       bool
}

// row is a row of the table: a day or a week.
type row struct {
	Day                       core.Time
	Visits, Joined, Converted int64
	Rewards                   []template.HTML
}

// Rows returns the rows of the table, the latest first.
func (c *chart) Rows() []row { return c.rows }

// Interval returns what a point is: "Day" or "Week from".
func (c *chart) Interval() string {
	if c.weekly {
		return "Week from"
	}
	return "Day"
}

// newChart returns the chart of a query.
func newChart(q query, before, now analytics.Series) *chart {
	c := &chart{weekly: q.interval() == analytics.Weekly}
	every := " by day"
	if c.weekly {
		before, now = analytics.Weeks(before, now)
		every = " by week"
	}
	for _, m := range metrics {
		if m.metric == q.show {
			c.Label = m.label + every
		}
	}
	for i, p := range now.Points {
		c.Starts = append(c.Starts, int64(p.Start/core.Second))
		c.Now = append(c.Now, q.show.of(p))
		c.StartsBefore = append(c.StartsBefore, int64(before.Points[i].Start/core.Second))
		c.Before = append(c.Before, q.show.of(before.Points[i]))
		one := row{Day: p.Start, Visits: p.Visits, Joined: p.Joined, Converted: p.Converted}
		for _, r := range p.Rewards {
			one.Rewards = append(one.Rewards, pretty(r.Amount, r))
		}
		c.rows = append(c.rows, one)
	}
	slices.Reverse(c.rows)
	return c
}
