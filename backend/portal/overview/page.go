package overview

import (
	"cmp"
	"errors"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"time"

	"kith/backend/app/statistics"
	"kith/backend/portal/frame"
	"kith/core"
	"kith/core/analytics"
	"kith/core/link"
	"kith/core/operation"
	"kith/core/referral"
)

// mostReferrers is the number of top referrers on the page.
const mostReferrers = 10

// overview is the data of the page.
type overview struct {
	*frame.Form
	// Presets, Programs, Mediums, Intervals and Ranks are the choices of the filter.
	Presets                      []choice
	Programs, Mediums, Intervals []frame.Option
	// OwnDates is true if the period is from one day to another: From and To.
	OwnDates bool
	From, To string
	// First and Last are the days of the period, and FirstBefore and LastBefore those of
	// the period before.
	First, Last, FirstBefore, LastBefore core.Time
	// Before says what the figures are compared with: "the 30 days before".
	Before  string
	Figures []figure
	Costs   []cost
	// MoreCosts is the number of units and currencies that are only in the table.
	MoreCosts int
	// Bots is the number of visits that are not counted.
	Bots int64
	// Agents is the number of visits by programs that act for a person.
	Agents int64
	Chart  *chart
	// Referrers are nil if the role of the caller may not read them.
	Referrers []referrer
	Ranks     []choice
	MayRead   bool
	Attention []notice
	// Begin is set for a tenant without figures.
	Begin *statistics.Beginning
	// ShowAll is the path of the page without a filter of program and medium, or empty.
	ShowAll string
}

// Kept are the parameters that the form sends unchanged.
func (overview) Kept() []string { return []string{"period", "show", "rank"} }

// choice is a link that changes one parameter of the page.
type choice struct {
	Label, Path string
	Chosen      bool
}

// query is what the page shows.
type query struct {
	preset analytics.Preset
	in     statistics.Range
	filter analytics.SeriesFilter
	show   metric
	by     analytics.Interval // of the chart; empty: the period decides
	rank   analytics.Rank
	// from and to are the first and the last day as a form has them.
	from, to string
}

var labels = map[string]string{
	"from": "The first day", "to": "The last day", "period": "The period", "program": "The program",
	"medium": "The medium", "by": "The interval", "show": "The figure", "rank": "The order",
}

// read reads the query from the form. The first wrong parameter is an error about it; the
// rest of the query is then as if it was not given.
func read(v *frame.Visit, f *frame.Form) (q query, err error) {
	now := v.Engine.Now()
	today := now - now%core.Day
	q.preset, q.show, q.rank = analytics.Days30, joined, analytics.ByConverted
	if q.preset, err = analytics.ParsePreset("period", f.Value("period")); err != nil {
		q.preset = analytics.Days30
	}
	days := core.Time(q.preset.Days())
	if days == 0 {
		days = 30
	}
	first, after := today-(days-1)*core.Day, today+core.Day
	q.in = statistics.Range{Interval: analytics.Daily, From: first, Until: after}
	if err == nil && q.preset == analytics.OwnDates {
		err = q.readDates(f.Value("from"), f.Value("to"))
	}
	q.from, q.to = date(q.in.From), date(q.in.Until-core.Day)
	if err == nil && f.Value("program") != "" {
		q.filter.Program, err = core.ParseProgramKey("program", f.Value("program"))
	}
	if q.filter.ShareMedium = link.ShareMedium(f.Value("medium")); err == nil && q.filter.ShareMedium != analytics.NoMedium {
		q.filter.ShareMedium, err = analytics.ParseShareMedium("medium", f.Value("medium"))
	}
	if err == nil && f.Value("by") != "" {
		q.by, err = analytics.ParseInterval("by", f.Value("by"))
	}
	if err == nil {
		q.show, err = parseMetric(f.Value("show"))
	}
	if err == nil {
		q.rank, err = parseRank(f.Value("rank"))
	}
	return q, err
}

// readDates reads the days of a period from one day to another. One that is not given
// stays as it is.
func (q *query) readDates(from, to string) error {
	span, err := frame.Days(from, to, time.UTC)
	if err != nil {
		return err
	}
	in := q.in
	if span.Before != 0 {
		in.Until = span.Before
	}
	switch {
	case span.From != 0:
		in.From = span.From
	case span.Before != 0:
		in.From = in.Until - 30*core.Day
	}
	var wrong *core.Error
	if _, err := analytics.NewPeriod(in.Interval, in.From, in.Until, in.Until); errors.As(err, &wrong) {
		// The fields of the API have other names, and a page cannot take its advice.
		if wrong.Field == "until" {
			return core.Invalid("to", "is before the first one; choose a later one")
		}
		return core.Invalid("from", "is more than "+strconv.Itoa(analytics.MostPoints)+" days before the last one; choose a later one")
	}
	q.in = in
	return nil
}

// page shows the overview.
func page(v *frame.Visit) error {
	f := v.NewForm()
	q, err := read(v, f)
	if err != nil && !f.Refuse(err, labels) {
		return err
	}
	data := overview{Form: f, OwnDates: q.preset == analytics.OwnDates, From: q.from, To: q.to}
	if f.Failed() && f.Value("from") != "" {
		data.From = f.Value("from")
	}
	if f.Failed() && f.Value("to") != "" {
		data.To = f.Value("to")
	}
	programs, err := v.Engine.Programs.List(v.Ctx(), v.Caller.Tenant)
	if err != nil {
		return err
	}
	data.choices(v, q, programs)
	if data.Attention, err = attention(v); err != nil {
		return err
	}
	if !f.Failed() {
		if err := data.figures(v, q); err != nil {
			return err
		}
	}
	return v.Page(f.Status(), "overview", "Overview", data)
}

// choices fills in the filter.
func (o *overview) choices(v *frame.Visit, q query, programs []referral.Program) {
	for _, p := range analytics.Presets() {
		o.Presets = append(o.Presets, choice{Label: p.Describe(), Path: withPeriod(v, p), Chosen: p == q.preset})
	}
	o.Programs = []frame.Option{{Label: "All programs", Chosen: q.filter.Program == ""}}
	for _, p := range programs {
		o.Programs = append(o.Programs, frame.Option{Value: string(p.Key), Label: cmp.Or(p.Name, string(p.Key)), Chosen: p.Key == q.filter.Program})
	}
	o.Mediums = []frame.Option{{Label: "All media", Chosen: q.filter.ShareMedium == ""}}
	for _, m := range append(slices.Clone(link.ShareMediums), analytics.NoMedium) {
		o.Mediums = append(o.Mediums, frame.Option{Value: string(m), Label: mediumNames[m], Chosen: m == q.filter.ShareMedium})
	}
	o.Intervals = frame.OptionsOf(string(q.interval()), string(analytics.Daily), "Day", string(analytics.Weekly), "Week")
	if q.filter.Program != "" || q.filter.ShareMedium != "" {
		o.ShowAll = v.With("program", "", "medium", "")
	}
	for _, r := range []struct {
		rank  analytics.Rank
		label string
	}{{analytics.ByConverted, "Converted"}, {analytics.ByJoined, "Joined"}} {
		o.Ranks = append(o.Ranks, choice{Label: r.label, Path: v.With("rank", string(r.rank)) + "#referrers", Chosen: r.rank == q.rank})
	}
}

// parseRank returns what the top referrers are ordered by. The page does not order by
// visits: a period has many more of them than referrals, and counting them takes too long
// for a page.
func parseRank(s string) (analytics.Rank, error) {
	rank, err := analytics.ParseRank("rank", s)
	if err != nil || rank == analytics.ByVisits {
		return analytics.ByConverted, core.Invalid("rank", "must be converted or joined")
	}
	return rank, nil
}

// withPeriod returns the path of the page with another period.
func withPeriod(v *frame.Visit, p analytics.Preset) string {
	if p == analytics.OwnDates {
		return v.With("period", string(p))
	}
	return v.With("from", "", "to", "", "period", string(p))
}

// interval returns the interval of the chart.
func (q query) interval() analytics.Interval {
	if q.by != "" {
		return q.by
	}
	return analytics.Period{Interval: analytics.Daily, From: q.in.From, Until: q.in.Until}.Readable()
}

// figures fills in the figures, the chart and the top referrers.
func (o *overview) figures(v *frame.Visit, q query) error {
	before, now, err := v.Engine.Analytics.Compare(v.Ctx(), v.Caller.Tenant, q.in, q.filter)
	if err != nil {
		return err
	}
	o.First, o.Last = now.From, now.Until-core.Day
	o.FirstBefore, o.LastBefore = before.From, before.Until-core.Day
	o.Before = spanBefore(len(now.Points))
	was, is := before.Total(), now.Total()
	o.Bots, o.Agents = is.BotVisits, is.AgentVisits
	o.addFigures(v, q, was, is)
	if nothing(was) && nothing(is) {
		b, begins, err := v.Engine.Analytics.Beginning(v.Ctx(), v.Caller.Tenant)
		if err != nil {
			return err
		}
		if begins {
			o.Begin = &b
			return nil
		}
	}
	o.Chart = newChart(q, before, now)
	if o.MayRead = v.May(operation.ReadReferrals); !o.MayRead {
		return nil
	}
	found, _, err := v.Engine.Analytics.TopReferrers(v.Ctx(), v.Caller.Tenant, q.in, analytics.TopFilter{
		By: q.rank, Program: q.filter.Program, ShareMedium: q.filter.ShareMedium, Limit: mostReferrers,
	})
	for _, one := range found {
		o.Referrers = append(o.Referrers, referrer{one, frame.PersonName(one.FirstName, one.LastName, "", one.User)})
	}
	return err
}

func nothing(p analytics.Point) bool {
	return p.Visits == 0 && p.Joined == 0 && p.Converted == 0 && len(p.Rewards) == 0
}

// referrer is a top referrer.
type referrer struct {
	analytics.Referrer
	Name string
}

// metric is a figure that the chart can show.
type metric string

const (
	visits    metric = "visits"
	joined    metric = "joined"
	converted metric = "converted"
)

func parseMetric(s string) (metric, error) {
	switch m := metric(s); m {
	case "":
		return joined, nil
	case visits, joined, converted:
		return m, nil
	}
	return joined, core.Invalid("show", "must be visits, joined or converted")
}

func (m metric) of(p analytics.Point) int64 {
	switch m {
	case visits:
		return p.Visits
	case converted:
		return p.Converted
	}
	return p.Joined
}

// metrics are the figures in the order of the funnel.
var metrics = []struct {
	metric
	label, hint string
}{
	{visits, "Visits", "People who followed a share link."},
	{joined, "Joined", "Friends who signed up after they followed a link."},
	{converted, "Converted", "Friends who became customers."},
}

// figure is one number of the funnel.
type figure struct {
	Label, Hint string
	// Path shows the figure in the chart; Shown is true if the chart shows it.
	Path  string
	Shown bool
	Now   int64
	Change
	// Rate is how many of the step before took this step, such as "4.1 % of visits", or
	// empty.
	Rate template.HTML
}

// Change is how a number has changed since the period before.
type Change struct {
	// Text is "+12 %", "no change" or "new".
	Text template.HTML
	Up   bool
	Down bool
	Was  template.HTML
}

// cost is what rewards of one unit and currency cost.
type cost struct {
	Amount template.HTML
	Change
}

func (o *overview) addFigures(v *frame.Visit, q query, was, is analytics.Point) {
	for i, m := range metrics {
		one := figure{
			Label: m.label, Hint: m.hint, Path: v.With("show", string(m.metric)), Shown: m.metric == q.show,
			Now: m.of(is), Change: newChange(m.of(was), m.of(is), frame.Number(m.of(was))),
		}
		if i > 0 {
			if tenths, ok := analytics.Share(one.Now, metrics[i-1].of(is)); ok {
				one.Rate = frame.Tenths(tenths)
				if tenths == 0 && one.Now > 0 {
					one.Rate = "less than " + frame.Tenths(1)
				}
				one.Rate += template.HTML(" % of " + strings.ToLower(metrics[i-1].label)) // #nosec G203 -- a constant
			}
		}
		o.Figures = append(o.Figures, one)
	}
	all := slices.Concat(is.Rewards, was.Rewards)
	slices.SortFunc(all, func(a, b analytics.Cost) int {
		return cmp.Or(cmp.Compare(a.Unit, b.Unit), cmp.Compare(a.Currency, b.Currency))
	})
	all = slices.CompactFunc(all, func(a, b analytics.Cost) bool { return a.Unit == b.Unit && a.Currency == b.Currency })
	for _, c := range all[:min(len(all), mostCosts)] {
		before, now := was.CostIn(c.Unit, c.Currency), is.CostIn(c.Unit, c.Currency)
		o.Costs = append(o.Costs, cost{Amount: pretty(now, c), Change: newChange(before, now, pretty(before, c))})
	}
	o.MoreCosts = max(0, len(all)-mostCosts)
}

// mostCosts is the number of currencies and units on the page.
const mostCosts = 8

func pretty(amount int64, in analytics.Cost) template.HTML {
	return frame.Amount(amount, in.Unit, in.Currency)
}

func newChange(before, now int64, was template.HTML) Change {
	c := Change{Up: now > before, Down: now < before, Was: was}
	percent, ok := analytics.Change(before, now)
	switch {
	case now == before:
		c.Text = "no change"
	case !ok && before == 0:
		c.Text = "new"
	case !ok || percent == 0:
		// The sign of Up and Down says enough.
	case percent > 0:
		c.Text = "+" + frame.Number(percent) + " %"
	default:
		c.Text = "−" + frame.Number(-percent) + " %"
	}
	return c
}
