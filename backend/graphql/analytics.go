package graphql

import (
	"context"
	"strings"

	"kith/backend/app/statistics"
	"kith/core"
	"kith/core/analytics"
	"kith/core/auth"
	"kith/core/link"
)

// CreateUserAnalyticsEvent counts that a user saw a widget or shared its link.
func (*mutation) CreateUserAnalyticsEvent(ctx context.Context, args struct{ EventMeta argument }) (*bool, error) {
	c := callOf(ctx)
	in := args.EventMeta
	account, user, err := userKey{AccountID: in.member("accountId"), ID: in.member("id")}.parse(c, auth.GetWidget)
	if err != nil {
		return nil, err
	}
	event := analytics.Event{Kind: analytics.Loaded, Account: account, User: user}
	if in.member("type").value == "USER_REFERRAL_PROGRAM_ENGAGEMENT_EVENT" {
		event.Kind = analytics.Shared
	}
	if err := readMediums(&event, in); err != nil {
		return nil, err
	}
	if err := c.engine.Analytics.Count(ctx, c.tenant, event); err != nil {
		return nil, err
	}
	return pointer(true), nil
}

// readMediums reads the program and the mediums of an event.
func readMediums(event *analytics.Event, in argument) (err error) {
	if event.Program, err = core.ParseProgramKey("programId", in.member("programId").text()); err != nil {
		return err
	}
	engagement, err := mediumIn(in.member("meta"), "engagementMedium")
	if err != nil {
		return err
	}
	if event.EngagementMedium, err = analytics.ParseEngagementMedium("meta.engagementMedium", engagement, link.Unknown); err != nil {
		return err
	}
	share, err := mediumIn(in.member("meta"), "shareMedium")
	if err != nil {
		return err
	}
	event.ShareMedium, err = analytics.ParseShareMedium("meta.shareMedium", share)
	return err
}

// mediumIn returns a key of meta, for which the schema allows any JSON; "" if it is missing.
func mediumIn(meta argument, key string) (string, error) {
	medium := meta.member(key)
	if _, ok := medium.value.(string); !ok && medium.value != nil {
		return "", core.Malformed("meta."+key, "must be a string")
	}
	return medium.text(), nil
}

// periodArguments are the arguments of fields that count a period.
type periodArguments struct{ From, Until, ProgramID argument }

func (a periodArguments) parse() (in statistics.Range, program core.ProgramKey, err error) {
	in.From, in.Until = a.From.bound(), a.Until.bound()
	if key := a.ProgramID.text(); key != "" {
		program, err = core.ParseProgramKey("programId", key)
	}
	return in, program, err
}

// seriesNode is the GraphQL type AnalyticsSeries.
type seriesNode struct {
	Interval    string
	From, Until date
	Points      []seriesPoint
}

// seriesPoint is the GraphQL type AnalyticsPoint.
type seriesPoint struct {
	Start                          date
	Visits, BotVisits, AgentVisits long
	Joined, Converted              *long
	RewardCost                     *[]rewardCost
}

// rewardCost is the GraphQL type RewardCost.
type rewardCost struct {
	Unit     string
	Currency *string
	Amount   long
}

// AnalyticsSeries returns visits, referrals and rewards by day or week. It needs the API
// key.
func (*query) AnalyticsSeries(ctx context.Context, args struct {
	periodArguments
	Interval, Code, ShareMedium, EngagementMedium argument
}) (*seriesNode, error) {
	c, err := keyHolder(ctx)
	if err != nil {
		return nil, err
	}
	in, program, err := args.parse()
	if err != nil {
		return nil, err
	}
	// The schema has the words of the enums in upper case.
	if in.Interval, err = analytics.ParseInterval("interval", strings.ToLower(args.Interval.text())); err != nil {
		return nil, err
	}
	s, err := c.engine.Analytics.Series(ctx, c.tenant, in, analytics.SeriesFilter{
		Program: program, Code: core.ReferralCode(args.Code.text()),
		ShareMedium: link.ShareMedium(args.ShareMedium.text()), EngagementMedium: link.Engagement(args.EngagementMedium.text()),
	})
	if err != nil {
		return nil, err
	}
	return newSeries(s), nil
}

func newSeries(s analytics.Series) *seriesNode {
	out := &seriesNode{
		Interval: strings.ToUpper(string(s.Interval)), From: date(s.From), Until: date(s.Until), Points: make([]seriesPoint, len(s.Points)),
	}
	for i, p := range s.Points {
		point := seriesPoint{Start: date(p.Start), Visits: long(p.Visits), BotVisits: long(p.BotVisits), AgentVisits: long(p.AgentVisits)}
		if !s.VisitsOnly {
			costs := []rewardCost{}
			for _, cost := range p.Rewards {
				costs = append(costs, rewardCost{Unit: cost.Unit, Currency: textOrNull(cost.Currency), Amount: long(cost.Amount)})
			}
			point.Joined, point.Converted, point.RewardCost = pointer(long(p.Joined)), pointer(long(p.Converted)), &costs
		}
		out.Points[i] = point
	}
	return out
}

// topReferrer is the GraphQL type TopReferrer.
type topReferrer struct {
	AccountID, ID             id
	FirstName, LastName       string
	Visits, Joined, Converted long
}

// TopReferrers returns the users with the most conversions, referrals or visits. It needs
// the API key.
func (*query) TopReferrers(ctx context.Context, args struct {
	periodArguments
	By, ShareMedium, Limit argument
}) (*list[topReferrer], error) {
	c, err := keyHolder(ctx)
	if err != nil {
		return nil, err
	}
	in, program, err := args.parse()
	if err != nil {
		return nil, err
	}
	f := analytics.TopFilter{Program: program, ShareMedium: link.ShareMedium(args.ShareMedium.text())}
	if f.Limit, err = within("limit", args.Limit, analytics.UnsetReferrers, analytics.MostReferrers); err != nil {
		return nil, err
	}
	if f.By, err = analytics.ParseRank("by", strings.ToLower(args.By.text())); err != nil {
		return nil, err
	}
	found, _, err := c.engine.Analytics.TopReferrers(ctx, c.tenant, in, f)
	if err != nil {
		return nil, err
	}
	nodes := make([]topReferrer, len(found))
	for i, r := range found {
		nodes[i] = topReferrer{
			AccountID: id(r.Account), ID: id(r.User), FirstName: r.FirstName, LastName: r.LastName,
			Visits: long(r.Visits), Joined: long(r.Joined), Converted: long(r.Converted),
		}
	}
	return newList(nodes, len(nodes)), nil
}
