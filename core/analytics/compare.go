package analytics

import "kith/core"

// Preset is a period that ends today, or one of given days.
type Preset string

// The presets. Days are those of UTC.
const (
	Today    Preset = "today"
	Days7    Preset = "7d"
	Days30   Preset = "30d"
	Days90   Preset = "90d"
	Months12 Preset = "12mo"
	// OwnDates is a period from one day to another.
	OwnDates Preset = "dates"
)

// Presets lists every preset.
func Presets() []Preset { return []Preset{Today, Days7, Days30, Days90, Months12, OwnDates} }

// ParsePreset returns s as a preset or an error about field. Empty means Days30.
func ParsePreset(field, s string) (Preset, error) {
	if s == "" {
		return Days30, nil
	}
	for _, p := range Presets() {
		if s == string(p) {
			return p, nil
		}
	}
	return "", core.Invalid(field, "must be today, 7d, 30d, 90d, 12mo or dates")
}

// Describe returns a preset as people read it.
func (p Preset) Describe() string {
	switch p {
	case Today:
		return "Today"
	case Days7:
		return "Last 7 days"
	case Days30:
		return "Last 30 days"
	case Days90:
		return "Last 90 days"
	case Months12:
		return "Last 12 months"
	}
	return "Own dates"
}

// Days returns the number of days of a preset that ends today; 0 for OwnDates.
func (p Preset) Days() int {
	switch p {
	case Today:
		return 1
	case Days7:
		return 7
	case Days30:
		return 30
	case Days90:
		return 90
	case Months12:
		return 365
	}
	return 0
}

// weeklyFrom is the number of days from which a chart has a point for each week, unless
// the reader chooses.
const weeklyFrom = 93

// Readable returns the interval in which a chart of a period is easy to read.
func (p Period) Readable() Interval {
	if (p.Until-p.From)/core.Day >= weeklyFrom {
		return Weekly
	}
	return Daily
}

// WithPrevious returns a period with the one before it, of the same length. It may have
// twice MostPoints intervals.
func (p Period) WithPrevious() Period {
	p.From -= p.Until - p.From
	return p
}

// Halves returns the first and the second half of a series: what was before, and what is
// now; see WithPrevious.
func (s Series) Halves() (before, now Series) {
	half := len(s.Points) / 2
	middle := s.From + core.Time(half)*s.Step()
	before, now = s, s
	before.Until, now.From = middle, middle
	before.Points, now.Points = s.Points[:half:half], s.Points[half:]
	return before, now
}

// Weeks returns two series of days, of the same length, by the weeks of the second one. The
// first and the last week have the days of the series only; each point starts with the
// first day that it has. A point of before has as many days as the same point of now.
func Weeks(before, now Series) (weeksBefore, weeksNow Series) {
	weeksBefore, weeksNow = before, now
	weeksBefore.Interval, weeksNow.Interval, weeksBefore.Points, weeksNow.Points = Weekly, Weekly, nil, nil
	for i, day := range now.Points {
		if i == 0 || Weekly.startOf(day.Start) == day.Start {
			weeksNow.Points = append(weeksNow.Points, Point{Start: day.Start})
			weeksBefore.Points = append(weeksBefore.Points, Point{Start: before.Points[i].Start})
		}
		last := len(weeksNow.Points) - 1
		weeksNow.Points[last].add(day)
		weeksBefore.Points[last].add(before.Points[i])
	}
	return weeksBefore, weeksNow
}

// Total returns the sum of all points.
func (s Series) Total() Point {
	total := Point{Start: s.From}
	for _, p := range s.Points {
		total.add(p)
	}
	return total
}

// add adds the counts of another point. Costs of different units and currencies are kept
// apart.
func (p *Point) add(o Point) {
	p.Visits, p.BotVisits, p.AgentVisits = p.Visits+o.Visits, p.BotVisits+o.BotVisits, p.AgentVisits+o.AgentVisits
	p.Joined, p.Converted = p.Joined+o.Joined, p.Converted+o.Converted
	for _, c := range o.Rewards {
		p.addCost(c)
	}
}

func (p *Point) addCost(c Cost) {
	for i := range p.Rewards {
		if of := &p.Rewards[i]; of.Unit == c.Unit && of.Currency == c.Currency {
			of.Amount += c.Amount
			return
		}
	}
	p.Rewards = append(p.Rewards, c)
}

// CostIn returns what the rewards of a unit and currency cost.
func (p Point) CostIn(unit, currency string) int64 {
	for _, c := range p.Rewards {
		if c.Unit == unit && c.Currency == currency {
			return c.Amount
		}
	}
	return 0
}

// Change returns by how much percent a number has changed, rounded half away from zero. ok is
// false if there is no such percentage: nothing was before, or it was negative, or a number
// is too large.
func Change(before, now int64) (percent int64, ok bool) {
	const most = (1<<63 - 1) / 201 // a difference of two, times 100, and a half is an int64
	if before <= 0 || before > most || now > most || now < -most {
		return 0, false
	}
	half := before / 2
	if now < before {
		half = -half
	}
	return ((now-before)*100 + half) / before, true
}

// Share returns how much of a whole a part is in tenths of a percent, rounded half up, but not to
// the whole. ok is false if the whole is 0 or less than the part, because its rest is in an
// earlier period, or if a number is too large.
func Share(part, whole int64) (tenths int64, ok bool) {
	if whole <= 0 || part < 0 || part > whole || whole > (1<<63-1)/1001 {
		return 0, false
	}
	if tenths = (part*1000 + whole/2) / whole; tenths == 1000 && part < whole {
		tenths--
	}
	return tenths, true
}

// MostAttention is the largest number that an Attention counts to: that number means that
// there are as many or more.
const MostAttention = 100

// LowTank is the number of codes below which a fuel tank needs more.
const LowTank = 10

// Attention is what waits for a person of a tenant. Numbers stop at MostAttention.
type Attention struct {
	// Pending are referrals of which at least one side waits for a moderator.
	Pending int
	// FailedWebhooks are deliveries that Kith does not try again by itself.
	FailedWebhooks int
	// FailingEndpoints are the endpoints of webhooks whose last attempt failed, or that are
	// disabled because they answered that they are gone.
	FailingEndpoints int
	// FailedGateway are refunds, discounts and codes that the payment gateway refused.
	FailedGateway int
	// RefusedEvents are event calls that were refused in event.RefusedAttention, because their
	// idempotency key was used for other events.
	RefusedEvents int
	// UndatedTokens are calls that were refused because their user token has no exp, since
	// the first of a week.
	UndatedTokens int
	// UnknownCodes are the texts that people gave as a code in referral.UnknownSpan, and that
	// no user has as a code.
	UnknownCodes int
	// Tanks are the fuel tanks that are low or have too few codes for what they owe.
	Tanks []TankLevel
}

// TankLevel is how many codes a fuel tank has, and how many rewards wait for a code.
type TankLevel struct {
	Program     core.ProgramKey
	ProgramName string
	// Side is "referrer" or "referred".
	Side string
	// Available counts to LowTank, Due to MostAttention.
	Available, Due int
}

// Low reports whether the tank needs more codes.
func (t TankLevel) Low() bool { return t.Available < LowTank || t.Due > 0 }
