package graphql

import (
	"cmp"
	"context"

	"kith/core"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/wire"
)

// referralNode is the GraphQL type Referral.
type referralNode struct {
	c      *call
	stored referral.Referral
	// loaders are the loaders that it shares with the other referrals of its list.
	loaders                        *referralFieldLoaders
	referrerReward, referredReward *rewardNode

	ID                              id
	ProgramID                       *id
	ReferralCodeUsed, ShareLinkUsed *string

	ModerationStatus, ReferrerModerationStatus, ReferredModerationStatus string
	FraudSignals                                                         *node
	FraudFlags                                                           []fraudFlag

	DateReferralStarted, DateReferralPaid, DateConverted, DateReferralEnded *date
	DateModerated, DateUserModified, DateModified                           *date
}

// fraudFlag is a fraud signal of a referral.
type fraudFlag struct{ Type, Message string }

// referralFieldLoaders loads the users and orders of the referrals of one list.
type referralFieldLoaders struct {
	referrers, referred userLoader
	orders              loader[string, *list[*orderNode]]
}

// newReferrals returns the nodes of the referrals of one list, which share their loaders.
func newReferrals(c *call, all []referral.Referral) []*referralNode {
	loaders := &referralFieldLoaders{}
	referrals := make([]*referralNode, len(all))
	var rewards []*reward.Reward
	for i, stored := range all {
		if !c.Caller.Key {
			stored = stored.SeenBy(c.self())
		}
		referrals[i] = newReferral(c, stored)
		referrals[i].loaders = loaders
		loaders.referrers.add(stored.Referrer)
		loaders.referred.add(stored.Referred)
		loaders.orders.add(stored.ID)
		rewards = append(rewards, stored.ReferrerReward, stored.ReferredReward)
	}
	nodes := newRewards(c, rewards)
	for i, r := range referrals {
		r.referrerReward, r.referredReward = nodes[2*i], nodes[2*i+1]
	}
	return referrals
}

func newReferral(c *call, r referral.Referral) *referralNode {
	m := r.Moderation
	out := &referralNode{
		c: c, stored: r, ID: id(r.ID), ProgramID: textOrNull(id(r.Program)), ReferralCodeUsed: pointer(string(r.Code)),
		ShareLinkUsed: textOrNull(r.ShareLink), ModerationStatus: m.Status(),
		ReferrerModerationStatus: string(cmp.Or(m.Referrer.Status, referral.SideApproved)),
		ReferredModerationStatus: string(cmp.Or(m.Referred.Status, referral.SideApproved)), FraudFlags: []fraudFlag{},
		DateReferralStarted: dateOrNull(r.Started), DateReferralPaid: dateOrNull(r.Converted),
		DateConverted: dateOrNull(r.Converted), DateReferralEnded: dateOrNull(r.Ended),
		DateModerated: dateOrNull(m.Moderated), DateUserModified: dateOrNull(m.ByHand), DateModified: dateOrNull(r.Modified),
	}
	if len(m.Signals) > 0 {
		out.FraudSignals = pointer(node(wire.FraudSignals(m.Signals)))
	}
	for _, f := range m.Signals {
		out.FraudFlags = append(out.FraudFlags, fraudFlag{Type: fraudTypes[f.Signal], Message: f.Message})
	}
	return out
}

// fraudTypes has the names of fraud signals in GraphQL (clients 1.11.12).
var fraudTypes = map[referral.Signal]string{
	referral.SignalName: "NAME", referral.SignalEmail: "EMAIL", referral.SignalTempEmail: "TEMP_EMAIL", referral.SignalIP: "IP",
	referral.SignalRate: "RATE", referral.SignalDailyLimit: "DAILY_REFERRAL_REWARD_LIMIT", referral.SignalMutual: "MUTUAL_REFERRAL", referral.SignalBlocked: "BLOCKED_USER",
}

// ReferrerUser returns the user whose code was used.
func (r *referralNode) ReferrerUser(ctx context.Context) (*user, error) {
	return r.loaders.referrers.get(ctx, r.c, r.stored.Referrer)
}

// ReferredUser is null until a user of the referred account is identified.
func (r *referralNode) ReferredUser(ctx context.Context) (*user, error) {
	return r.loaders.referred.get(ctx, r.c, r.stored.Referred)
}

// ReferrerReward is null until the referral converts.
func (r *referralNode) ReferrerReward() *rewardNode { return r.referrerReward }

// ReferredReward is null until the referral converts.
func (r *referralNode) ReferredReward() *rewardNode { return r.referredReward }

// Program returns the program of the code that was used.
func (r *referralNode) Program(ctx context.Context) (*programNode, error) {
	return r.c.program(ctx, r.stored.Program)
}

// Rewards returns the rewards of both sides.
func (r *referralNode) Rewards() []*rewardNode {
	out := []*rewardNode{}
	for _, w := range []*rewardNode{r.ReferrerReward(), r.ReferredReward()} {
		if w != nil {
			out = append(out, w)
		}
	}
	return out
}

func referralFilter(a listArguments) (f referral.Filter, err error) {
	f.Limit, f.Offset, err = a.read(func(r *filterReader) { f = r.referrals() })
	return f, err
}

// referrals returns the conditions on referrals.
func (r *filterReader) referrals() (f referral.Filter) {
	f.ID, f.Program = r.text("id_eq"), core.ProgramKey(r.text("programId_eq"))
	f.ReferrerModeration, f.ReferredModeration = r.side("referrerModerationStatus_eq"), r.side("referredModerationStatus_eq")
	f.Started, f.Ended = r.span("dateReferralStarted"), r.span("dateReferralEnded")
	f.ReferrerAccount, f.ReferrerUser = r.nested("referrer_user").user()
	f.ReferredAccount, f.ReferredUser = r.nested("referred_user").user()
	f.Converted = both(r.span("dateReferralPaid"), r.span("dateConverted"))
	return f
}

// side returns the value of a condition on the moderation status of one side; "" if it is
// not set.
func (r *filterReader) side(name string) referral.SideStatus {
	text := r.text(name)
	if text == "" {
		return ""
	}
	status, err := referral.ParseSideStatus(r.at+"."+name, text)
	r.fail(err)
	return status
}

// both returns the intersection of two spans.
func both(a, b core.Span) core.Span {
	a.From = max(a.From, b.From)
	if b.Before != 0 && (a.Before == 0 || b.Before < a.Before) {
		a.Before = b.Before
	}
	return a
}

// referralsMade returns, for each of several users, a page of the referrals that the user
// made.
func (c *call) referralsMade(ctx context.Context, users []referral.Identity, f referral.Filter) (map[referral.Identity]*list[*referralNode], error) {
	pages, err := c.engine.Referrals.MadeBy(ctx, c.tenant, users, f)
	if err != nil {
		return nil, err
	}
	pageOf := func(identity referral.Identity) ([]referral.Referral, int) {
		return pages[identity].Page, pages[identity].Total
	}
	return listsOf(users, pageOf, func(all []referral.Referral) []*referralNode { return newReferrals(c, all) }), nil
}

// Referral returns a referral by its id, or null. It needs the API key.
func (*query) Referral(ctx context.Context, args struct{ ID argument }) (*referralNode, error) {
	c, err := keyHolder(ctx)
	if err != nil {
		return nil, err
	}
	found, err := c.engine.Referrals.ByID(ctx, c.tenant, args.ID.text())
	return orNull(found, err, func(found referral.Referral) *referralNode {
		return newReferrals(c, []referral.Referral{found})[0]
	})
}

// Referrals returns a page of the tenant's referrals. It needs the API key.
func (*query) Referrals(ctx context.Context, args listArguments) (*list[*referralNode], error) {
	return keyedList(ctx, args, referralFilter, callOf(ctx).engine.Referrals.List, newReferrals)
}
