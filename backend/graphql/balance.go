package graphql

import (
	"context"
	"slices"

	"kith/core"
	"kith/core/referral"
	"kith/core/reward"
)

// balance is the sums of rewards of one type, unit and currency.
type balance struct {
	sum reward.Balance

	Type, Unit                                                                                             string
	Currency                                                                                               *word
	Count                                                                                                  long
	AvailableValue                                                                                         decimal
	TotalPendingCredit, TotalAssignedCredit, TotalRedeemedCredit, TotalExpiredCredit, TotalCancelledCredit long
	TotalReversedCredit, TotalOwedCredit                                                                   long
	TotalDiscountPercent, ReferredDiscountPercent, ReferrerDiscountPercent                                 decimal
	TotalFuelTankCodes                                                                                     long
}

func newBalance(b reward.Balance) *balance {
	return &balance{
		sum: b, Type: string(b.Kind), Unit: b.Unit, Count: long(b.Count), AvailableValue: amount(b.Available(), b.Unit),
		TotalPendingCredit: long(b.Pending), TotalAssignedCredit: long(b.Assigned), TotalRedeemedCredit: long(b.Redeemed),
		TotalExpiredCredit: long(b.Expired), TotalCancelledCredit: long(b.Cancelled), TotalReversedCredit: long(b.Reversed),
		TotalOwedCredit: long(b.Debt), Currency: textOrNull(word(b.Currency)),
		TotalDiscountPercent:    decimal((b.Referred + b.Referrer).String()),
		ReferredDiscountPercent: decimal(b.Referred.String()), ReferrerDiscountPercent: decimal(b.Referrer.String()),
		TotalFuelTankCodes: long(b.Codes),
	}
}

// ToCreditRewardBalance returns the balance if it is one of credit.
func (b *balance) ToCreditRewardBalance() (*balance, bool) { return b, b.sum.Kind == reward.Credit }

// ToDiscountPercentRewardBalance returns the balance if it is one of discounts.
func (b *balance) ToDiscountPercentRewardBalance() (*balance, bool) {
	return b, b.sum.Kind == reward.PercentDiscount
}

// ToFuelTankRewardBalance returns the balance if it is one of fuel tank codes.
func (b *balance) ToFuelTankRewardBalance() (*balance, bool) { return b, b.sum.Kind == reward.FuelTank }

// ToIntegrationRewardBalance returns the balance if it is one of an integration's rewards,
// such as gift cards.
func (b *balance) ToIntegrationRewardBalance() (*balance, bool) {
	return b, b.sum.Kind == reward.Integration
}

type formatArguments struct{ FormatType argument }

// pretty formats a value in the unit of the balance.
func (b *balance) pretty(value int64, args formatArguments) *string {
	return prettyArguments{FormatType: args.FormatType}.pretty(value, b.Unit, b.sum.Currency)
}

// PrettyAvailableValue returns the value that can be used now, formatted for people.
func (b *balance) PrettyAvailableValue(args formatArguments) *string {
	return b.pretty(b.sum.Available(), args)
}

// PrettyPendingCredit returns the credit that is not available yet, formatted for people.
func (b *balance) PrettyPendingCredit(args formatArguments) *string {
	return b.pretty(b.sum.Pending, args)
}

// PrettyAssignedCredit returns the credit that was given and neither expired nor was
// cancelled, formatted for people.
func (b *balance) PrettyAssignedCredit(args formatArguments) *string {
	return b.pretty(b.sum.Assigned, args)
}

// PrettyRedeemedCredit returns the redeemed credit, formatted for people.
func (b *balance) PrettyRedeemedCredit(args formatArguments) *string {
	return b.pretty(b.sum.Redeemed, args)
}

// PrettyExpiredCredit returns the expired credit, formatted for people.
func (b *balance) PrettyExpiredCredit(args formatArguments) *string {
	return b.pretty(b.sum.Expired, args)
}

// PrettyCancelledCredit returns the cancelled credit, formatted for people.
func (b *balance) PrettyCancelledCredit(args formatArguments) *string {
	return b.pretty(b.sum.Cancelled, args)
}

// RewardBalanceDetails returns the sums of the user's rewards by type and unit.
func (u *user) RewardBalanceDetails(ctx context.Context, args struct{ Filter, ProgramID, Locale argument }) (*[]*balance, error) {
	program := args.ProgramID.text()
	r := &filterReader{at: "filter", a: args.Filter}
	kind, units := r.text("type_eq"), r.texts("unit_in", "unit_eq")
	if r.err != nil || u.hidden {
		return &[]*balance{}, r.err
	}
	all, err := u.loaders.balances.get(ctx, program, u.identity(), func(ctx context.Context, users []referral.Identity) (map[referral.Identity][]reward.Balance, error) {
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
