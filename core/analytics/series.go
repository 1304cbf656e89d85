package analytics

import (
	"strconv"

	"kith/core"
	"kith/core/link"
)

// Interval is the length of a point of a series.
type Interval string

// The intervals. Days are those of UTC, weeks those of ISO 8601: from Monday.
const (
	Daily  Interval = "day"
	Weekly Interval = "week"
)

// ParseInterval returns s as an interval or an error about field. Empty means Daily.
func ParseInterval(field, s string) (Interval, error) {
	if s == "" {
		return Daily, nil
	}
	if i, ok := core.OneOf(s, Daily, Weekly); ok {
		return i, nil
	}
	return "", core.Invalid(field, "must be day or week")
}

// length returns the length of an interval.
func (i Interval) length() core.Time {
	if i == Weekly {
		return 7 * core.Day
	}
	return core.Day
}

// monday is the start of an ISO week: 1970-01-05, 00:00 UTC.
const monday = 4 * core.Day

// startOf returns the start of the interval that t is in.
func (i Interval) startOf(t core.Time) core.Time {
	origin := core.Time(0)
	if i == Weekly {
		origin = monday
	}
	length := i.length()
	return t - ((t-origin)%length+length)%length
}

const (
	// MostPoints is the largest number of points of a series.
	MostPoints = 400
	// unsetDays and unsetWeeks are the numbers of points of a series without a from.
	unsetDays  = 30
	unsetWeeks = 13
)

// Period is a time of whole intervals.
type Period struct {
	Interval Interval
	// From is included, Until is not. Both are starts of intervals.
	From, Until core.Time
}

// NewPeriod returns the whole intervals that have any moment from from, included, until
// until, not included. Zero is not given: the period then ends with the current
// interval, and has 30 days or 13 weeks. It has at most MostPoints intervals.
func NewPeriod(i Interval, from, until, now core.Time) (Period, error) {
	if until == 0 {
		until = now + 1
	}
	length := i.length()
	end := i.startOf(until-1) + length
	if from == 0 {
		points := core.Time(unsetDays)
		if i == Weekly {
			points = unsetWeeks
		}
		from = end - points*length
	}
	p := Period{Interval: i, From: i.startOf(from), Until: end}
	switch {
	case from >= until:
		return Period{}, core.Invalid("until", "must be later than from; give a later until, or leave it out to end today")
	case p.Points() > MostPoints:
		message := "must not be more than " + strconv.Itoa(MostPoints) + " " + string(i) + "s before until; give a later from"
		if i == Daily {
			message += ", or the interval week"
		}
		return Period{}, core.Invalid("from", message)
	}
	return p, nil
}

// Step returns the length of an interval in milliseconds.
func (p Period) Step() core.Time { return p.Interval.length() }

// Points returns the number of intervals.
func (p Period) Points() int { return int((p.Until - p.From) / p.Step()) }

// NoMedium selects visits and referrals without a share medium.
const NoMedium link.ShareMedium = "NONE"

// SeriesFilter selects what a series counts. An empty field matches all.
type SeriesFilter struct {
	Program core.ProgramKey
	Code    core.ReferralCode
	// ShareMedium and EngagementMedium are those of the link. A share medium may be NoMedium.
	// A referral has no engagement medium, so with one a series has visits only.
	ShareMedium      link.ShareMedium
	EngagementMedium link.Engagement
}

// Series are the counts of a period, one point for each interval.
type Series struct {
	Period
	// VisitsOnly is true if the referrals and rewards of the points are unknown.
	VisitsOnly bool
	Points     []Point
}

// Point has the counts of one interval.
type Point struct {
	Start core.Time
	// Visits are those of people, BotVisits those of bots, prefetches and HEAD, AgentVisits
	// those of programs that act for a person.
	Visits, BotVisits, AgentVisits int64
	// Joined counts referrals that started in the interval, Converted those that
	// converted in it.
	Joined, Converted int64
	// Rewards is the cost of the rewards that were given in the interval, by unit and
	// currency.
	Rewards []Cost
}

// Cost is what rewards of one unit and currency cost: what was given, without what was
// cancelled later. What expired is part of it. Percentages are left out: they cost
// nothing by themselves.
type Cost struct {
	Unit, Currency string
	Amount         int64
}

// NewSeries returns a series without counts.
func NewSeries(p Period, visitsOnly bool) Series {
	s := Series{Period: p, VisitsOnly: visitsOnly, Points: make([]Point, p.Points())}
	for i := range s.Points {
		s.Points[i].Start = p.From + core.Time(i)*p.Step()
	}
	return s
}

// Rank is what a list of top referrers is ordered by.
type Rank string

// The ranks.
const (
	ByConverted Rank = "converted"
	ByJoined    Rank = "joined"
	ByVisits    Rank = "visits"
)

// ParseRank returns s as a rank or an error about field. Empty means ByConverted.
func ParseRank(field, s string) (Rank, error) {
	if s == "" {
		return ByConverted, nil
	}
	if r, ok := core.OneOf(s, ByConverted, ByJoined, ByVisits); ok {
		return r, nil
	}
	return "", core.Invalid(field, "must be converted, joined or visits")
}

const (
	// MostReferrers is the largest number of top referrers.
	MostReferrers = 100
	// UnsetReferrers is the number of top referrers if none is given.
	UnsetReferrers = 10
)

// TopFilter selects the top referrers of a period.
type TopFilter struct {
	Period
	By          Rank
	Program     core.ProgramKey  // empty: all programs
	ShareMedium link.ShareMedium // empty: all; NoMedium: none
	Limit       int
}

// Referrer is a user with the counts of the user's codes in a period.
type Referrer struct {
	Account                   core.AccountID
	User                      core.UserID
	FirstName, LastName       string
	Visits, Joined, Converted int64
}
