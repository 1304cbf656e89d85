package graphql

import (
	"context"
	"slices"

	"kith/core"
	"kith/core/conversion"
	"kith/core/referral"
	"kith/core/reward"
)

// programNode is the GraphQL type Program.
type programNode struct {
	stored referral.Program

	ID         id
	Name       string
	Status     string
	Rewards    []*programReward
	Sharing    *programSharing
	Conversion *programConversion
	// MoneyBackDuration is nil if an event converts.
	MoneyBackDuration *word
	DateCreated       *date
}

func newProgram(p referral.Program) *programNode {
	out := &programNode{
		stored: p, ID: id(p.Key), Name: p.Name, Status: "LIVE", Rewards: []*programReward{}, DateCreated: dateOrNull(p.Created),
		Sharing: &programSharing{redirectURL{
			URL: p.LandingURL, FallbackURL: p.LandingURL, CookieExpiryDuration: word(core.FormatDuration(p.CookieLife)),
		}},
		Conversion: newConversion(p.Conversion),
	}
	if !p.Conversion.ByEvent() {
		out.MoneyBackDuration = pointer(word(core.FormatDuration(p.MoneyBack)))
	}
	for _, side := range []referral.SideKey{referral.ReferrerSide, referral.ReferredSide} {
		if earning := p.Earning(side); !earning.Offer.None() {
			out.Rewards = append(out.Rewards, newProgramReward(string(side), earning))
		}
	}
	return out
}

// Reward returns the reward of one side, or null if that side earns none.
func (p *programNode) Reward(args struct{ Key argument }) *programReward {
	key := args.Key.text()
	for _, r := range p.Rewards {
		if r.Key == key {
			return r
		}
	}
	return nil
}

type programSharing struct{ RedirectURL redirectURL }

type redirectURL struct {
	URL, FallbackURL     string
	CookieExpiryDuration word
}

// programReward is the reward that one side of a referral earns.
type programReward struct {
	offer reward.Offer

	Key                               string
	Name, Description                 *string
	RewardType, Unit                  string
	Amount                            decimal
	Currency                          *word
	ValidityDuration, PendingDuration *word

	PercentOfRevenue                 *decimal
	Minimum, Maximum, Orders, Months *long
	Tiers                            []rewardTier
}

func newProgramReward(key string, e conversion.Earning) *programReward {
	o := e.Offer
	value, unit := shown(o)
	out := &programReward{
		offer: o, Key: key, Name: textOrNull(o.Name), Description: textOrNull(o.Description),
		RewardType: string(o.Kind), Unit: unit, Amount: amount(value, unit), Currency: textOrNull(word(o.Currency)),
		ValidityDuration: durationOrNull(o.ValidFor), PendingDuration: durationOrNull(o.GivenAfter),
		Minimum: longOrNull(e.Min), Maximum: longOrNull(e.Max), Orders: longOrNull(e.Orders), Months: longOrNull(e.Months), Tiers: []rewardTier{},
	}
	if o.OfRevenue != 0 {
		out.PercentOfRevenue = pointer(amount(value, unit))
	}
	for _, tier := range e.Tiers {
		out.Tiers = append(out.Tiers, newTier(e.At(tier.From), tier.From))
	}
	return out
}

func durationOrNull(d core.Time) *word {
	if d == 0 {
		return nil
	}
	return pointer(word(core.FormatDuration(d)))
}

// PrettyValue returns the amount, formatted for people.
func (r *programReward) PrettyValue(args prettyArguments) *string {
	value, unit := shown(r.offer)
	return args.pretty(value, unit, r.offer.Currency)
}

// Program returns a program by its id, or null. It needs the API key.
func (*query) Program(ctx context.Context, args struct{ ID argument }) (*programNode, error) {
	c, err := keyHolder(ctx)
	if err != nil {
		return nil, err
	}
	return c.program(ctx, core.ProgramKey(args.ID.text()))
}

// program returns a program, or nil if there is no such program.
func (c *call) program(ctx context.Context, key core.ProgramKey) (*programNode, error) {
	all, err := c.programs(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(p referral.Program) bool { return p.Key == key })
	if i < 0 {
		return nil, nil
	}
	return newProgram(all[i]), nil
}

// programs returns the tenant's programs. It reads them once for a call.
func (c *call) programs(ctx context.Context) ([]referral.Program, error) {
	c.programsMu.Lock()
	defer c.programsMu.Unlock()
	if c.allPrograms == nil {
		all, err := c.engine.Programs.List(ctx, c.tenant)
		if err != nil {
			return nil, err
		}
		c.allPrograms = &all
	}
	return *c.allPrograms, nil
}

// forgetPrograms makes the next call of programs read them again.
func (c *call) forgetPrograms() {
	c.programsMu.Lock()
	defer c.programsMu.Unlock()
	c.allPrograms = nil
}

// Programs returns a page of the tenant's programs. It needs the API key.
func (*query) Programs(ctx context.Context, args listArguments) (*list[*programNode], error) {
	c, limit, offset, err := args.keyed(ctx)
	if err != nil {
		return nil, err
	}
	all, err := c.programs(ctx)
	if err != nil {
		return nil, err
	}
	kept := []*programNode{}
	for _, p := range all {
		if admits(args.Filter, p) {
			kept = append(kept, newProgram(p))
		}
	}
	return newList(sublist(kept, limit, offset), len(kept)), nil
}

// admits reports whether a program satisfies a filter.
func admits(filter argument, p referral.Program) bool {
	for _, condition := range []struct {
		value    string
		one, any argument
	}{
		{string(p.Key), filter.member("id_eq"), filter.member("id_in")},
		{p.Name, filter.member("name_eq"), filter.member("name_in")},
	} {
		is := func(a argument) bool { return a.value == condition.value }
		if condition.one.value != nil && !is(condition.one) || condition.any.value != nil && !slices.ContainsFunc(condition.any.list(), is) {
			return false
		}
	}
	return true
}
