package graphql

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"kith/backend/app/base"
	"kith/backend/store/answerdb"
	"kith/core"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/wire"
)

// rewardNode is the GraphQL type Reward.
type rewardNode struct {
	c      *call
	stored reward.Reward
	// loaders are the loaders that it shares with the other rewards of its list.
	loaders *rewardFieldLoaders

	ID                                                         id
	Type, Unit                                                 string
	Value, AvailableValue                                      decimal
	Name, Description                                          *string
	RewardSource, ProgramID, ProgramRewardKey, GlobalRewardKey *string
	ReferralID                                                 *id
	OrderID                                                    *string
	ReversedValue, SettledValue                                decimal
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

// rewardMeta is the state of a reward in an external integration. Kith has no such
// integrations, so a reward has no rewardMeta.
type rewardMeta struct {
	Status     string
	Message    *string
	CustomMeta *node
}

// rewardFieldLoaders loads the users and referrals of the rewards of one list.
type rewardFieldLoaders struct {
	users     userLoader
	referrals loader[string, *referralNode]
}

// newRewards returns the nodes of the rewards of one list, which share their loaders. The
// node of a nil reward is nil.
func newRewards(c *call, all []*reward.Reward) []*rewardNode {
	loaders := &rewardFieldLoaders{}
	rewards := make([]*rewardNode, len(all))
	for i, stored := range all {
		if stored == nil {
			continue
		}
		rewards[i] = newReward(c, *stored)
		rewards[i].loaders = loaders
		loaders.users.add(referral.Identity{Account: stored.Account, User: stored.User})
		if stored.Referral != "" {
			loaders.referrals.add(stored.Referral)
		}
	}
	return rewards
}

// storedRewards is newRewards for rewards that are not nil.
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
		ReferralID: textOrNull(id(r.Referral)), OrderID: c.orderID(r),
		ReversedValue: amount(r.Sums.Reversed, r.Offer.Unit), SettledValue: amount(r.Sums.Settled, r.Offer.Unit), Currency: textOrNull(word(r.Offer.Currency)),
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

// orderID returns the id of the order that earned a reward. Only the API key may see the
// id of the order of a referrer's friend.
func (c *call) orderID(r reward.Reward) *string {
	if r.Source == reward.FriendSignup && !c.Caller.Key {
		return nil
	}
	return textOrNull(r.Order)
}

// User returns the user who has the reward.
func (r *rewardNode) User(ctx context.Context) (*user, error) {
	return r.loaders.users.get(ctx, r.c, referral.Identity{Account: r.stored.Account, User: r.stored.User})
}

// Program returns the program that gave the reward, or null.
func (r *rewardNode) Program(ctx context.Context) (*programNode, error) {
	if r.stored.Program == "" {
		return nil, nil
	}
	return r.c.program(ctx, r.stored.Program)
}

// Referral returns the referral that earned the reward, or null.
func (r *rewardNode) Referral(ctx context.Context) (*referralNode, error) {
	if r.stored.Referral == "" {
		return nil, nil
	}
	return r.loaders.referrals.get(ctx, "", r.stored.Referral, func(ctx context.Context, ids []string) (map[string]*referralNode, error) {
		found, err := r.c.engine.Referrals.ListByID(ctx, r.c.tenant, ids)
		byID := make(map[string]*referralNode, len(found))
		for _, node := range newReferrals(r.c, found) {
			byID[node.stored.ID] = node
		}
		return byID, err
	})
}

func (r *rewardNode) pretty(value int64, args prettyArguments) *string {
	return args.pretty(value, r.stored.Offer.Unit, r.stored.Offer.Currency)
}

// PrettyValue returns the value, formatted for people.
func (r *rewardNode) PrettyValue(args prettyArguments) *string {
	return r.pretty(r.stored.Offer.Value(), args)
}

// PrettyAvailableValue returns the value that can be used now, formatted for people.
func (r *rewardNode) PrettyAvailableValue(args prettyArguments) *string {
	return r.pretty(r.stored.Available(r.c.engine.Now()), args)
}

// PrettyAssignedCredit returns the assigned credit, formatted for people; null for other
// types of rewards.
func (r *rewardNode) PrettyAssignedCredit(args prettyArguments) *string {
	if r.AssignedCredit == nil {
		return nil
	}
	return r.pretty(r.stored.Offer.Amount, args)
}

// PrettyRedeemedCredit returns the redeemed credit, formatted for people; null for other
// types of rewards.
func (r *rewardNode) PrettyRedeemedCredit(args prettyArguments) *string {
	if r.RedeemedCredit == nil {
		return nil
	}
	return r.pretty(r.stored.Sums.Redeemed, args)
}

func rewardFilter(a listArguments) (f reward.Filter, err error) {
	f.Limit, f.Offset, err = a.read(func(r *filterReader) {
		f.ID, f.Kind, f.Unit, f.Source = r.text("id_eq"), reward.Kind(r.text("type_eq")), r.text("unit_eq"), reward.Source(r.text("rewardSource_eq"))
		f.Account, f.User = r.owner()
		f.Program, f.ProgramRewardKey, f.Referral = core.ProgramKey(r.text("programId_eq")), r.text("programRewardKey_eq"), r.text("referralId_eq")
		f.Created, f.Given = r.span("dateCreated"), r.span("dateGiven")
		f.Expires, f.Cancelled = r.span("dateExpires"), r.span("dateCancelled")
	})
	return f, err
}

// Rewards returns a page of the tenant's rewards. It needs the API key.
func (*query) Rewards(ctx context.Context, args listArguments) (*list[*rewardNode], error) {
	return keyedList(ctx, args, rewardFilter, callOf(ctx).engine.Rewards.List, storedRewards)
}

// Rewards returns a page of the user's rewards.
func (u *user) Rewards(ctx context.Context, args listArguments) (*list[*rewardNode], error) {
	f, err := rewardFilter(args)
	if err != nil {
		return nil, err
	}
	if u.hidden {
		return empty[*rewardNode](), nil
	}
	return u.loaders.rewards.get(ctx, fmt.Sprint(f), u.identity(), func(ctx context.Context, users []referral.Identity) (map[referral.Identity]*list[*rewardNode], error) {
		return u.c.rewardsOf(ctx, users, f)
	})
}

// rewardsOf returns a page of rewards for each of several users.
func (c *call) rewardsOf(ctx context.Context, users []referral.Identity, f reward.Filter) (map[referral.Identity]*list[*rewardNode], error) {
	pages, err := c.engine.Rewards.ListOf(ctx, c.tenant, users, f)
	if err != nil {
		return nil, err
	}
	pageOf := func(identity referral.Identity) ([]reward.Reward, int) {
		return pages[identity].Page, pages[identity].Total
	}
	return listsOf(users, pageOf, func(all []reward.Reward) []*rewardNode { return storedRewards(c, all) }), nil
}

// Reward returns a reward by its id, or null. It needs the API key.
func (*query) Reward(ctx context.Context, args struct{ ID argument }) (*rewardNode, error) {
	c, err := keyHolder(ctx)
	if err != nil {
		return nil, err
	}
	found, err := c.engine.Rewards.ByID(ctx, c.tenant, args.ID.text())
	return orNull(found, err, func(found reward.Reward) *rewardNode { return storedRewards(c, []reward.Reward{found})[0] })
}

func (c *call) oneReward(r reward.Reward, err error) (*rewardNode, error) {
	if err != nil {
		return nil, err
	}
	return storedRewards(c, []reward.Reward{r})[0], nil
}

// CreateReward gives a user a reward, with an idempotency key once. It needs the API key.
func (*mutation) CreateReward(ctx context.Context, args struct{ RewardInput, UserID, AccountID, Status, IdempotencyKey argument }) (*rewardNode, error) {
	c, account, id, err := userKey{AccountID: args.AccountID, ID: args.UserID}.keyed(ctx, "userId")
	if err != nil {
		return nil, err
	}
	grant, err := wire.ParseReward(account, id, []byte(args.RewardInput.json()))
	if err != nil {
		return nil, err
	}
	switch reward.Status(args.Status.text()) {
	case "", reward.StatusAvailable:
	case reward.StatusPending:
		grant.Held = true
	default:
		return nil, core.Invalid("status", "must be PENDING or AVAILABLE for a new reward")
	}
	key := args.IdempotencyKey.text()
	if key == "" {
		return c.oneReward(c.engine.Admin.Users.Grant(ctx, c.member(), grant))
	}
	return c.grantOnce(ctx, grant, key, args.RewardInput.json())
}

// grantOnce gives a reward at most once for each key, and returns the reward as it is now.
func (c *call) grantOnce(ctx context.Context, grant reward.Grant, key, input string) (*rewardNode, error) {
	parsed, err := core.ParseIdempotencyKey("idempotencyKey", key)
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256(fmt.Appendf(nil, "createReward %q %q %v %s", grant.Account, grant.User, grant.Held, input))
	kept, _, err := c.engine.Base.Once(ctx, c.tenant, base.Once{
		Field: "idempotencyKey", Key: parsed, Digest: hex.EncodeToString(digest[:]),
		Answer: func(value any) answerdb.Answer {
			r := value.(reward.Reward)
			return answerdb.Answer{Account: r.Account, User: r.User, JSON: wire.Reward(r)}
		},
	}, func(ctx context.Context) error {
		_, err := c.engine.Admin.Users.Grant(ctx, c.member(), grant)
		return err
	})
	var given struct{ ID string }
	if err == nil {
		err = json.Unmarshal(kept, &given)
	}
	if err != nil {
		return nil, err
	}
	return c.oneReward(c.engine.Rewards.ByID(ctx, c.tenant, given.ID))
}

// UpdateRewardStatus changes the status of a reward. It needs the API key.
func (*mutation) UpdateRewardStatus(ctx context.Context, args struct{ ID, Status argument }) (*rewardNode, error) {
	c, err := keyHolder(ctx)
	if err != nil {
		return nil, err
	}
	status, err := reward.ParseStatus("status", args.Status.text())
	if err != nil {
		return nil, err
	}
	return c.oneReward(c.engine.Rewards.SetStatus(ctx, c.tenant, args.ID.text(), status))
}

// redemption is the result of a redemption.
type redemption struct {
	Unit                            string
	CreditRedeemed, CreditAvailable long
}

// RedeemRewardCredit redeems some or all of one credit reward. It needs the API key.
func (*mutation) RedeemRewardCredit(ctx context.Context, args struct{ ID, RedeemCreditInput argument }) (*redemption, error) {
	c, err := keyHolder(ctx)
	if err != nil {
		return nil, err
	}
	draw, err := wire.ParseRedemption(args.ID.text(), []byte(args.RedeemCreditInput.json()))
	if err != nil {
		return nil, err
	}
	return c.redeem(ctx, draw)
}

// RedeemUserCredit redeems credit of a user, from one or more rewards. It needs the API
// key.
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

// amount returns a value as a number. A value in basis points becomes a percentage.
func amount(value int64, unit string) decimal {
	if unit == reward.UnitPercent {
		return decimal(reward.BasisPoints(value).String())
	}
	return decimal(strconv.FormatInt(value, 10))
}

// prettyArguments choose the format of a value. The locale is ignored: values are
// formatted in English.
type prettyArguments struct{ Locale, FormatType argument }

func (a prettyArguments) pretty(value int64, unit, currency string) *string {
	return pointer(reward.Pretty(value, unit, currency, reward.Format(a.FormatType.text())))
}

// FormatRewardPrettyValue formats a value for people. It needs no credentials.
func (*query) FormatRewardPrettyValue(args struct {
	Value, Unit argument
	prettyArguments
}) (*string, error) {
	value, unit := args.Value.number(0), args.Unit.text()
	if unit == reward.UnitPercent {
		if value > math.MaxInt64/100 || value < math.MinInt64/100 {
			return nil, core.Invalid("value", "must be from -92233720368547758 to 92233720368547758 for the unit %")
		}
		value *= 100
	}
	return args.pretty(value, unit, ""), nil
}
