package graphql

import (
	"context"
	"strconv"

	"kith/core"
	"kith/core/conversion"
	"kith/core/reward"
	"kith/core/wire"
)

// programConversion is the GraphQL type ProgramConversion.
type programConversion struct {
	Event, ReversalEvent string
	Conditions           []string
	WithinDuration       *word
	BeforeDuration       word
	FirstEvent           bool
}

// newConversion returns the rule of a program; nil if the first PAID converts.
func newConversion(r conversion.Rule) *programConversion {
	if !r.ByEvent() {
		return nil
	}
	conditions := make([]string, len(r.Conditions))
	for i, c := range r.Conditions {
		conditions[i] = c.String()
	}
	return &programConversion{
		Event: r.Event, ReversalEvent: r.Reversal, Conditions: conditions, WithinDuration: durationOrNull(r.Within), BeforeDuration: word(core.FormatDuration(r.Before)), FirstEvent: r.FirstEvent,
	}
}

// rewardTier is the GraphQL type ProgramRewardTier.
type rewardTier struct {
	From        long
	Amount      decimal
	PrettyValue string
}

func newTier(o reward.Offer, from int64) rewardTier {
	value, unit := shown(o)
	return rewardTier{From: long(from), Amount: amount(value, unit), PrettyValue: reward.Pretty(value, unit, o.Currency, reward.UnitFormatted)}
}

// shown returns the value of an offer and its unit. A percentage of the revenue is shown
// as such: its amount depends on the order.
func shown(o reward.Offer) (value int64, unit string) {
	if o.OfRevenue != 0 {
		return int64(o.OfRevenue), reward.UnitPercent
	}
	return o.Value(), o.InUnit()
}

// orderNode is the GraphQL type ReferralOrder.
type orderNode struct {
	OrderID            string
	EventID            *id
	DateOrdered        *date
	RevenueInCents     *long
	Currency           *word
	RefundedInCents    long
	Refunded, Counts   bool
	Number, Conversion *long
	Reason             *orderReason
	Detail             *string
	Referrer, Referred *orderReward
}

// orderReward is what a side of a referral earned for an order.
type orderReward struct {
	Reason *orderReason
	Reward *rewardNode
}

type orderReason struct{ Code, Message string }

func newReason(r conversion.Reason) *orderReason {
	if r == "" {
		return nil
	}
	return &orderReason{Code: string(r), Message: r.Sentence()}
}

// newOrders returns the nodes of the orders of one list, whose rewards share their loaders.
func newOrders(c *call, all []wire.Order) []*orderNode {
	orders := make([]*orderNode, len(all))
	var rewards []*reward.Reward
	for i, o := range all {
		refunded, whole := o.Refunded()
		orders[i] = &orderNode{
			OrderID: o.Order.Key, EventID: textOrNull(id(o.Event)), DateOrdered: dateOrNull(o.At), Currency: textOrNull(word(o.Currency)),
			RefundedInCents: long(refunded), Refunded: whole, Counts: o.Number > 0, Number: longOrNull(o.Number),
			Conversion: longOrNull(o.Conversion), Reason: newReason(o.Reason), Detail: textOrNull(o.WhyDetail()),
		}
		if o.HasRevenue {
			orders[i].RevenueInCents = pointer(long(o.Revenue))
		}
		rewards = append(rewards, o.Rewards[:]...)
	}
	nodes := newRewards(c, rewards)
	for i, o := range orders {
		sides := all[i].Sides
		o.Referrer = &orderReward{Reason: newReason(sides[conversion.Referrer].Reason), Reward: nodes[2*i]}
		o.Referred = &orderReward{Reason: newReason(sides[conversion.Referred].Reason), Reward: nodes[2*i+1]}
	}
	return orders
}

// Orders returns a page of the referral's orders, latest first. It needs the API key.
func (r *referralNode) Orders(ctx context.Context, args pageArguments) (*list[*orderNode], error) {
	if err := r.c.Caller.MustHoldKey(); err != nil {
		return nil, err
	}
	limit, offset, err := args.page()
	if err != nil {
		return nil, err
	}
	arguments := strconv.Itoa(limit) + " " + strconv.Itoa(offset)
	found, err := r.loaders.orders.get(ctx, arguments, r.stored.ID, func(ctx context.Context, referrals []string) (map[string]*list[*orderNode], error) {
		pages, err := r.c.engine.Orders.Lists(ctx, r.c.tenant, referrals, limit, offset)
		if err != nil {
			return nil, err
		}
		return listsOf(referrals, func(id string) ([]wire.Order, int) { return pages[id].Page, pages[id].Total },
			func(all []wire.Order) []*orderNode { return newOrders(r.c, all) }), nil
	})
	if found == nil {
		found = empty[*orderNode]()
	}
	return found, err
}
