package graphql

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"kith/core"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/wire"
)

// rewardNode is a reward in an answer.
type rewardNode struct {
	c      *call
	stored reward.Reward
	// beside are the rewards of the same place of the answer, this one too.
	beside *rewardsBeside

	ID                                                         id
	Type, Unit                                                 string
	Value, AvailableValue                                      decimal
	Name, Description                                          *string
	RewardSource, ProgramID, ProgramRewardKey, GlobalRewardKey *string
	ReferralID                                                 *id
	Currency                                                   *word
	DiscountPercent                                            *decimal
	AssignedCredit, RedeemedCredit                             *long
	FuelTankCode, FuelTankType                                 *string
	Cancellable, Redeemable                                    bool
	Statuses                                                   []string
	Meta                                                       *rewardMeta
	DateCreated, DateGiven, DateScheduledFor, DateExpires      *date
	DateCancelled, DateRedeemed                                *date
}

// rewardMeta is what an integration would say of a reward; there is none.
type rewardMeta struct {
	Status     string
	Message    *string
	CustomMeta *node
}

// rewardsBeside load what rewards of one place of an answer have.
type rewardsBeside struct {
	users     usersOf
	referrals batch[string, *referralNode]
}

// newRewards are the rewards of one place of an answer; no reward is nil.
func newRewards(c *call, all []*reward.Reward) []*rewardNode {
	beside := &rewardsBeside{}
	rewards := make([]*rewardNode, len(all))
	for i, stored := range all {
		if stored == nil {
			continue
		}
		rewards[i] = newReward(c, *stored)
		rewards[i].beside = beside
		beside.users.want(referral.Identity{Account: stored.Account, User: stored.User})
		if stored.Referral != "" {
			beside.referrals.want(stored.Referral)
		}
	}
	return rewards
}

// storedRewards are newRewards of rewards that are there.
func storedRewards(c *call, all []reward.Reward) []*rewardNode {
	given := make([]*reward.Reward, len(all))
	for i := range all {
		given[i] = &all[i]
	}
	return newRewards(c, given)
}

func newReward(c *call, r reward.Reward) *rewardNode {
	now := c.engine.Now()
	out := &rewardNode{
		c: c, stored: r, ID: id(r.ID), Type: string(r.Offer.Kind), Unit: r.Offer.Unit,
		Value: amount(r.Offer.Value(), r.Offer.Unit), AvailableValue: amount(r.Available(now), r.Offer.Unit),
		Name: textOrNull(r.Offer.Name), Description: textOrNull(r.Offer.Description),
		RewardSource: textOrNull(string(r.Source)), ProgramID: textOrNull(string(r.Program)),
		ProgramRewardKey: textOrNull(r.ProgramRewardKey), GlobalRewardKey: textOrNull(r.GlobalRewardKey),
		ReferralID: textOrNull(id(r.Referral)), Currency: textOrNull(word(r.Offer.Currency)),
		FuelTankCode: textOrNull(r.FuelTankCode), FuelTankType: textOrNull(string(r.FuelTankType)),
		Cancellable: r.Cancellable && r.Cancelled == 0 && r.Left() > 0,
		Redeemable:  r.Offer.Kind == reward.Credit && r.Available(now) > 0, Statuses: []string{string(r.Status(now))},
		DateCreated: dateOrNull(r.Created), DateScheduledFor: dateOrNull(r.Scheduled), DateExpires: dateOrNull(r.Expires),
		DateCancelled: dateOrNull(r.Cancelled),
	}
	if !r.Pending {
		out.DateGiven = dateOrNull(r.Given)
	}
	switch r.Offer.Kind {
	case reward.PercentDiscount:
		out.DiscountPercent = pointer(decimal(r.Offer.Percent.String()))
	case reward.Credit:
		out.AssignedCredit, out.RedeemedCredit = pointer(long(r.Offer.Amount)), pointer(long(r.Sums.Redeemed))
	}
	if r.Status(now) == reward.StatusRedeemed && len(r.Redemptions) > 0 {
		out.DateRedeemed = dateOrNull(r.Redemptions[0].At)
	}
	return out
}

// User is whose reward it is.
func (r *rewardNode) User(ctx context.Context) (*user, error) {
	return r.beside.users.get(ctx, r.c, referral.Identity{Account: r.stored.Account, User: r.stored.User})
}

// Program is the program that gave it, or null.
func (r *rewardNode) Program(ctx context.Context) (*programNode, error) {
	if r.stored.Program == "" {
		return nil, nil
	}
	return r.c.program(ctx, r.stored.Program)
}

// Referral is the referral that earned it, or null.
func (r *rewardNode) Referral(ctx context.Context) (*referralNode, error) {
	if r.stored.Referral == "" {
		return nil, nil
	}
	return r.beside.referrals.get(ctx, "", r.stored.Referral, func(ctx context.Context, ids []string) (map[string]*referralNode, error) {
		found, err := r.c.engine.Referrals.ListByID(ctx, r.c.tenant, ids)
		byID := make(map[string]*referralNode, len(found))
		for _, node := range newReferrals(r.c, found) {
			byID[node.stored.ID] = node
		}
		return byID, err
	})
}

func (r *rewardNode) pretty(value int64, args prettyArguments) (*string, error) {
	return args.pretty(value, r.stored.Offer.Unit, r.stored.Offer.Currency)
}

// PrettyValue is the value as people read it, as are the three that follow.
func (r *rewardNode) PrettyValue(args prettyArguments) (*string, error) {
	return r.pretty(r.stored.Offer.Value(), args)
}

// PrettyAvailableValue is what can be used now.
func (r *rewardNode) PrettyAvailableValue(args prettyArguments) (*string, error) {
	return r.pretty(r.stored.Available(r.c.engine.Now()), args)
}

// PrettyAssignedCredit is null for what is no credit.
func (r *rewardNode) PrettyAssignedCredit(args prettyArguments) (*string, error) {
	if r.AssignedCredit == nil {
		return nil, nil
	}
	return r.pretty(r.stored.Offer.Amount, args)
}

// PrettyRedeemedCredit is null for what is no credit.
func (r *rewardNode) PrettyRedeemedCredit(args prettyArguments) (*string, error) {
	if r.RedeemedCredit == nil {
		return nil, nil
	}
	return r.pretty(r.stored.Sums.Redeemed, args)
}

// rewardArguments narrow a list of rewards.
type rewardArguments struct {
	Filter argument
	pageArguments
}

func (a rewardArguments) filter() (f reward.Filter, err error) {
	r := &filterReader{at: "filter", a: a.Filter}
	f.ID, f.Kind, f.Unit, f.Source = r.text("id_eq"), reward.Kind(r.text("type_eq")), r.text("unit_eq"), reward.Source(r.text("rewardSource_eq"))
	f.Account, f.User = r.whose()
	f.Program, f.ProgramRewardKey, f.Referral = core.ProgramKey(r.text("programId_eq")), r.text("programRewardKey_eq"), r.text("referralId_eq")
	f.Created, f.Given = rewardSpan(r.span("dateCreated")), rewardSpan(r.span("dateGiven"))
	f.Expires, f.Cancelled = rewardSpan(r.span("dateExpires")), rewardSpan(r.span("dateCancelled"))
	if r.err != nil {
		return f, r.err
	}
	f.Limit, f.Offset, err = a.page()
	return f, err
}

func rewardSpan(s core.Span) reward.Span { return reward.Span{From: s.From, To: s.Before} }

// Rewards are the tenant's.
func (*query) Rewards(ctx context.Context, args rewardArguments) (*list[*rewardNode], error) {
	return keyedList(ctx, args.filter, callOf(ctx).engine.Rewards.List, storedRewards)
}

// Rewards are the user's.
func (u *user) Rewards(ctx context.Context, args rewardArguments) (*list[*rewardNode], error) {
	f, err := args.filter()
	if err != nil {
		return nil, err
	}
	if u.hidden {
		return empty[*rewardNode](), nil
	}
	return u.beside.rewards.get(ctx, fmt.Sprint(f), u.who(), func(ctx context.Context, users []referral.Identity) (map[referral.Identity]*list[*rewardNode], error) {
		return u.c.rewardsOf(ctx, users, f)
	})
}

// rewardsOf makes a list for each of several users, whose rewards stand beside
// one another.
func (c *call) rewardsOf(ctx context.Context, users []referral.Identity, f reward.Filter) (map[referral.Identity]*list[*rewardNode], error) {
	pages, err := c.engine.Rewards.ListOf(ctx, c.tenant, users, f)
	if err != nil {
		return nil, err
	}
	pageOf := func(who referral.Identity) ([]reward.Reward, int) { return pages[who].Page, pages[who].Total }
	return listsOf(users, pageOf, func(all []reward.Reward) []*rewardNode { return storedRewards(c, all) }), nil
}

// Reward is a reward by its id, or null.
func (*query) Reward(ctx context.Context, args struct{ ID argument }) (*rewardNode, error) {
	c, wanted, err := keyedText(ctx, args.ID, "id")
	if err != nil {
		return nil, err
	}
	found, err := c.engine.Rewards.ByID(ctx, c.tenant, wanted)
	return orNull(found, err, func(found reward.Reward) *rewardNode { return storedRewards(c, []reward.Reward{found})[0] })
}

func (c *call) oneReward(r reward.Reward, err error) (*rewardNode, error) {
	if err != nil {
		return nil, err
	}
	return storedRewards(c, []reward.Reward{r})[0], nil
}

// CreateReward gives a user a reward.
func (*mutation) CreateReward(ctx context.Context, args struct{ RewardInput, UserID, AccountID, Status argument }) (*rewardNode, error) {
	c, account, id, err := userKey{AccountID: args.AccountID, ID: args.UserID}.keyed(ctx, "userId")
	if err != nil {
		return nil, err
	}
	grant, err := wire.ParseReward(account, id, []byte(args.RewardInput.json()))
	if err != nil {
		return nil, err
	}
	status, err := args.Status.text("status")
	if err != nil {
		return nil, err
	}
	switch reward.Status(status) {
	case "", reward.StatusAvailable:
	case reward.StatusPending:
		grant.Held = true
	default:
		return nil, core.Invalid("status", "a new reward is PENDING or AVAILABLE")
	}
	return c.oneReward(c.engine.Rewards.Create(ctx, c.tenant, grant))
}

// UpdateRewardStatus moves a reward to a status.
func (*mutation) UpdateRewardStatus(ctx context.Context, args struct{ ID, Status argument }) (*rewardNode, error) {
	c, wanted, err := keyedText(ctx, args.ID, "id")
	if err != nil {
		return nil, err
	}
	text, err := args.Status.text("status")
	if err != nil {
		return nil, err
	}
	status, err := reward.ParseStatus("status", text)
	if err != nil {
		return nil, err
	}
	return c.oneReward(c.engine.Rewards.SetStatus(ctx, c.tenant, wanted, status))
}

// redemption is what a redemption did.
type redemption struct {
	Unit                            string
	CreditRedeemed, CreditAvailable long
}

// RedeemRewardCredit redeems a part of one credit.
func (*mutation) RedeemRewardCredit(ctx context.Context, args struct{ ID, RedeemCreditInput argument }) (*redemption, error) {
	c, wanted, err := keyedText(ctx, args.ID, "id")
	if err != nil {
		return nil, err
	}
	draw, err := wire.ParseRedemption(wanted, []byte(args.RedeemCreditInput.json()))
	if err != nil {
		return nil, err
	}
	return c.redeem(ctx, draw)
}

// RedeemUserCredit redeems credit of a user.
func (*mutation) RedeemUserCredit(ctx context.Context, args struct{ UserID, AccountID, RedeemCreditInput argument }) (*redemption, error) {
	c, account, id, err := userKey{AccountID: args.AccountID, ID: args.UserID}.keyed(ctx, "userId")
	if err != nil {
		return nil, err
	}
	draw, err := wire.ParseRedemption("", []byte(args.RedeemCreditInput.json()))
	if err != nil {
		return nil, err
	}
	draw.Account, draw.User = account, id
	return c.redeem(ctx, draw)
}

func (c *call) redeem(ctx context.Context, d reward.Draw) (*redemption, error) {
	done, err := c.engine.Redemptions.Draw(ctx, c.tenant, d)
	if err != nil {
		return nil, err
	}
	return &redemption{Unit: done.Unit, CreditRedeemed: long(done.Redeemed), CreditAvailable: long(done.Available)}, nil
}

// amount is a value as a number: a percentage for one in basis points.
func amount(value int64, unit string) decimal {
	if unit == reward.UnitPercent {
		return decimal(reward.BasisPoints(value).String())
	}
	return decimal(strconv.FormatInt(value, 10))
}

// prettyArguments say how a value is written. It is written in English whatever
// the locale.
type prettyArguments struct{ Locale, FormatType argument }

func (a prettyArguments) pretty(value int64, unit, currency string) (*string, error) {
	format, err := a.FormatType.text("formatType")
	return pointer(reward.Pretty(value, unit, currency, reward.Format(format))), err
}

// FormatRewardPrettyValue writes a value as people read it.
func (*query) FormatRewardPrettyValue(args struct {
	Value, Unit argument
	prettyArguments
}) (*string, error) {
	value, err := args.Value.number("value", 0)
	if err != nil {
		return nil, err
	}
	unit, err := args.Unit.text("unit")
	if err != nil {
		return nil, err
	}
	if unit == reward.UnitPercent {
		if value > math.MaxInt64/100 || value < math.MinInt64/100 {
			return nil, core.Invalid("value", "is out of range")
		}
		value *= 100
	}
	return args.pretty(value, unit, "")
}
