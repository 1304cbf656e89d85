package main

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"kith/backend/app"
	"kith/backend/app/statistics"
	"kith/core"
	"kith/core/analytics"
	"kith/core/exportfile"
	"kith/core/reward"
)

type analyticsCommand struct {
	Series    seriesCommand    `cmd:"" help:"Print visits, referrals and reward cost by day or ISO week, in UTC."`
	Referrers referrersCommand `cmd:"" help:"Print the users whose codes led to the most conversions, referrals or visits."`
}

// periodFlags are a period of analytics, and the form in which they are printed.
type periodFlags struct {
	tenantFlags
	From    time.Time `help:"First day. Default: 30 days, or 13 weeks, before the end." placeholder:"YYYY-MM-DD"`
	Until   time.Time `help:"Day after the last. Default: tomorrow." placeholder:"YYYY-MM-DD"`
	Program string    `help:"Only this program." placeholder:"KEY"`
	CSV     bool      `name:"csv" help:"Print CSV."`
}

// period returns the program and the range of the flags.
func (f *periodFlags) period() (program core.ProgramKey, in statistics.Range, err error) {
	if f.Program != "" {
		program, err = core.ParseProgramKey("program", f.Program)
	}
	return program, statistics.Range{From: timeOf(f.From), Until: timeOf(f.Until)}, err
}

// timeOf returns a time of a flag; zero if it is not given.
func timeOf(t time.Time) core.Time {
	if t.IsZero() {
		return 0
	}
	return core.Time(t.UnixMilli())
}

// print prints rows, of which the first has the names of the columns.
func (f *periodFlags) print(out io.Writer, rows [][]string) error {
	if f.CSV {
		for _, row := range rows {
			for i := range row {
				// Negative amounts stay numbers.
				if _, err := strconv.ParseFloat(row[i], 64); err != nil {
					row[i] = exportfile.Harmless(row[i])
				}
			}
		}
		return csv.NewWriter(out).WriteAll(rows)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	return w.Flush()
}

type seriesCommand struct {
	periodFlags
	Interval         string `default:"day" help:"Length of a row: day, or week for ISO weeks." placeholder:"day|week"`
	Code             string `help:"Only this code." placeholder:"CODE"`
	ShareMedium      string `help:"Only this share medium, such as FACEBOOK." placeholder:"MEDIUM"`
	EngagementMedium string `help:"Only this engagement medium, such as EMAIL. Referrals have none, so only visits are printed." placeholder:"MEDIUM"`
}

// Run prints a series.
func (c *seriesCommand) Run(e *env) error {
	program, in, err := c.period()
	if err != nil {
		return err
	}
	f := analytics.SeriesFilter{Program: program, Code: core.ReferralCode(c.Code)}
	if in.Interval, err = analytics.ParseInterval("interval", c.Interval); err != nil {
		return err
	}
	if f.ShareMedium, err = analytics.ParseShareMedium("share-medium", c.ShareMedium); err != nil {
		return err
	}
	if f.EngagementMedium, err = analytics.ParseEngagementMedium("engagement-medium", c.EngagementMedium, ""); err != nil {
		return err
	}
	return c.with(e, func(engine *app.Engine) error {
		s, err := engine.Analytics.Series(e.ctx, c.Tenant, in, f)
		if err != nil {
			return err
		}
		return c.print(e.out, seriesRows(s))
	})
}

// seriesRows returns the rows of a series: a column of cost for each unit and currency.
func seriesRows(s analytics.Series) [][]string {
	var units []analytics.Cost
	for _, p := range s.Points {
		for _, cost := range p.Rewards {
			cost.Amount = 0
			if !slices.Contains(units, cost) {
				units = append(units, cost)
			}
		}
	}
	slices.SortFunc(units, func(a, b analytics.Cost) int {
		return cmp.Or(cmp.Compare(a.Unit, b.Unit), cmp.Compare(a.Currency, b.Currency))
	})
	head := []string{string(s.Interval), "visits", "bot visits", "agent visits"}
	if !s.VisitsOnly {
		head = append(head, "joined", "converted")
	}
	for _, unit := range units {
		head = append(head, "cost in "+unitName(unit))
	}
	rows := [][]string{head}
	for _, p := range s.Points {
		row := []string{time.UnixMilli(int64(p.Start)).UTC().Format(time.DateOnly), number(p.Visits), number(p.BotVisits), number(p.AgentVisits)}
		if !s.VisitsOnly {
			row = append(row, number(p.Joined), number(p.Converted))
		}
		for _, unit := range units {
			amount := int64(0)
			for _, cost := range p.Rewards {
				if cost.Unit == unit.Unit && cost.Currency == unit.Currency {
					amount = cost.Amount
				}
			}
			row = append(row, amountText(unit, amount))
		}
		rows = append(rows, row)
	}
	return rows
}

// unitName returns what amountText counts in.
func unitName(c analytics.Cost) string {
	if c.Unit == reward.UnitCents && c.Currency != "" {
		return c.Currency
	}
	return strings.TrimSpace(c.Unit + " " + c.Currency)
}

// amountText returns an amount of money with the decimals of its currency, and another as it is.
func amountText(c analytics.Cost, amount int64) string {
	if c.Unit != reward.UnitCents {
		return number(amount)
	}
	return reward.Pretty(amount, c.Unit, c.Currency, reward.NumberUnformatted)
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

type referrersCommand struct {
	periodFlags
	By          string `default:"converted" help:"Order: converted, joined or visits." placeholder:"RANK"`
	ShareMedium string `help:"Only this share medium, such as FACEBOOK." placeholder:"MEDIUM"`
	Limit       int    `default:"10" help:"Highest number of users, up to 100."`
}

// Run prints the top referrers.
func (c *referrersCommand) Run(e *env) error {
	program, in, err := c.period()
	if err != nil {
		return err
	}
	f := analytics.TopFilter{Program: program, Limit: c.Limit}
	if f.By, err = analytics.ParseRank("by", c.By); err != nil {
		return err
	}
	if f.ShareMedium, err = analytics.ParseShareMedium("share-medium", c.ShareMedium); err != nil {
		return err
	}
	if c.Limit < 1 || c.Limit > analytics.MostReferrers {
		return core.Invalid("limit", "must be 1 to "+strconv.Itoa(analytics.MostReferrers))
	}
	return c.with(e, func(engine *app.Engine) error {
		found, _, err := engine.Analytics.TopReferrers(e.ctx, c.Tenant, in, f)
		if err != nil {
			return err
		}
		rows := [][]string{{"account", "user", "name", "visits", "joined", "converted"}}
		for _, r := range found {
			rows = append(rows, []string{string(r.Account), string(r.User), strings.TrimSpace(r.FirstName + " " + r.LastName), number(r.Visits), number(r.Joined), number(r.Converted)})
		}
		return c.print(e.out, rows)
	})
}
