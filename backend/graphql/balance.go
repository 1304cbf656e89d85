package graphql

import (
	"context"
	"slices"

	"kith/core"
	"kith/core/referral"
	"kith/core/reward"
)

// balance is rewards of one type and unit, summed up.
type balance struct {
	sum reward.Balance

	Type, Unit                                                                                             string
	Count                                                                                                  long
	AvailableValue                                                                                         decimal
	TotalPendingCredit, TotalAssignedCredit, TotalRedeemedCredit, TotalExpiredCredit, TotalCancelledCredit long
	TotalDiscountPercent, ReferredDiscountPercent, ReferrerDiscountPercent                                 decimal
	TotalFuelTankCodes                                                                                     long
}

func newBalance(b reward.Balance) *balance {
	return &balance{
		sum: b, Type: string(b.Kind), Unit: b.Unit, Count: long(b.Count), AvailableValue: amount(b.Available(), b.Unit),
		TotalPendingCredit: long(b.Pending), TotalAssignedCredit: long(b.Assigned), TotalRedeemedCredit: long(b.Redeemed),
		TotalExpiredCredit: long(b.Expired), TotalCancelledCredit: long(b.Cancelled),
		TotalDiscountPercent:    decimal((b.Referred + b.Referrer).String()),
		ReferredDiscountPercent: decimal(b.Referred.String()), ReferrerDiscountPercent: decimal(b.Referrer.String()),
		TotalFuelTankCodes: long(b.Codes),
	}
}

// ToCreditRewardBalance and the three that follow say of which type it is.
func (b *balance) ToCreditRewardBalance() (*balance, bool) { return b, b.sum.Kind == reward.Credit }

// ToDiscountPercentRewardBalance is for percentages.
func (b *balance) ToDiscountPercentRewardBalance() (*balance, bool) {
	return b, b.sum.Kind == reward.PercentDiscount
}

// ToFuelTankRewardBalance is for codes.
func (b *balance) ToFuelTankRewardBalance() (*balance, bool) { return b, b.sum.Kind == reward.FuelTank }

// ToIntegrationRewardBalance is for gifts.
func (b *balance) ToIntegrationRewardBalance() (*balance, bool) {
	return b, b.sum.Kind == reward.Integration
}

type formatArguments struct{ FormatType argument }

func (b *balance) pretty(value int64, args formatArguments) (*string, error) {
	return prettyArguments{FormatType: args.FormatType}.pretty(value, b.Unit, b.sum.Currency)
}

// PrettyAvailableValue is what can be used, as people read it.
func (b *balance) PrettyAvailableValue(args formatArguments) (*string, error) {
	return b.pretty(b.sum.Available(), args)
}

// PrettyPendingCredit and the four that follow are the totals as people read
// them.
func (b *balance) PrettyPendingCredit(args formatArguments) (*string, error) {
	return b.pretty(b.sum.Pending, args)
}

// PrettyAssignedCredit is what was given and is not lost.
func (b *balance) PrettyAssignedCredit(args formatArguments) (*string, error) {
	return b.pretty(b.sum.Assigned, args)
}

// PrettyRedeemedCredit is what was redeemed.
func (b *balance) PrettyRedeemedCredit(args formatArguments) (*string, error) {
	return b.pretty(b.sum.Redeemed, args)
}

// PrettyExpiredCredit is what has expired.
func (b *balance) PrettyExpiredCredit(args formatArguments) (*string, error) {
	return b.pretty(b.sum.Expired, args)
}

// PrettyCancelledCredit is what was taken back.
func (b *balance) PrettyCancelledCredit(args formatArguments) (*string, error) {
	return b.pretty(b.sum.Cancelled, args)
}

// RewardBalanceDetails are the user's rewards, summed up.
func (u *user) RewardBalanceDetails(ctx context.Context, args struct{ Filter, ProgramID, Locale argument }) (*[]*balance, error) {
	program, err := args.ProgramID.text("programId")
	if err != nil {
		return nil, err
	}
	r := &filterReader{at: "filter", a: args.Filter}
	kind, units := r.text("type_eq"), r.texts("unit_in", "unit_eq")
	if r.err != nil || u.hidden {
		return &[]*balance{}, r.err
	}
	all, err := u.beside.balances.get(ctx, program, u.who(), func(ctx context.Context, users []referral.Identity) (map[referral.Identity][]reward.Balance, error) {
		return u.c.engine.Rewards.BalancesOf(ctx, u.c.tenant, users, core.ProgramKey(program))
	})
	if err != nil {
		return nil, err
	}
	out := []*balance{}
	for _, b := range all {
		if (kind == "" || kind == string(b.Kind)) && (units == nil || slices.Contains(units, b.Unit)) {
			out = append(out, newBalance(b))
		}
	}
	return &out, nil
}
