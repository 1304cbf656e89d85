package braintree

import (
	"context"
	"fmt"
	"slices"

	"kith/core"
	"kith/core/billing"
)

// Subscription reads a subscription with the charge by which its account converted.
func (g *adapter) Subscription(ctx context.Context, id, first string) (s billing.Subscription, err error) {
	found, err := g.client.Subscription(ctx, id)
	if err == nil {
		err = g.addCharge(ctx, &found, first)
	}
	if err != nil {
		return s, portError(err)
	}
	currency, err := g.currencyOf(ctx, found)
	if err == nil {
		s, err = toBilling(found, currency, g.discountID)
	}
	if err == nil && first != "" {
		s.FirstReturned, err = g.returned(ctx, found, first, currency)
	}
	if err == nil && s.Customer == "" && found.PaymentMethod != "" {
		var method PaymentMethod
		method, err = g.client.PaymentMethod(ctx, found.PaymentMethod)
		s.Customer = core.PaymentProviderID(method.CustomerID)
	}
	return s, portError(err)
}

// addCharge adds a charge to those of a subscription, if it is not among the latest ones
// in the gateway's answer.
func (g *adapter) addCharge(ctx context.Context, s *Subscription, id string) error {
	if id == "" || slices.ContainsFunc(s.Transactions, func(t Transaction) bool { return t.ID == id }) {
		return nil
	}
	charge, err := g.client.Transaction(ctx, id)
	switch {
	case isAction(err, Missing):
		return nil
	case err == nil:
		s.Transactions = append(s.Transactions, charge)
	}
	return err
}

// returned returns when the shop had given back all of a charge; zero if it has not. What
// Kith gave back counts for the sum.
func (g *adapter) returned(ctx context.Context, s Subscription, charge, currency string) (at core.Time, err error) {
	i := slices.IndexFunc(s.Transactions, func(t Transaction) bool { return t.ID == charge })
	if i < 0 {
		return 0, nil
	}
	sale, m, sum := s.Transactions[i], minor{currency: currency}, int64(0)
	if sale.Status == Voided {
		return sale.Created, nil // no later than the day after, when it would settle
	}
	for _, id := range sale.RefundIDs {
		refund, err := g.client.Transaction(ctx, id)
		if isAction(err, Missing) {
			continue
		}
		if err != nil {
			return 0, err
		}
		if refund.Status == Voided || !refund.Status.Paid() {
			continue
		}
		if sum += m.of(refund.Amount); refund.OrderID != refundOrder(charge) {
			at = max(at, refund.Created)
		}
	}
	if sum < m.of(sale.Amount) {
		at = 0
	}
	return at, m.err
}

// currencyOf returns the currency of a subscription. While the subscription has no
// transaction, it is the currency of its plan.
func (g *adapter) currencyOf(ctx context.Context, s Subscription) (string, error) {
	if currency := s.Currency(); currency != "" {
		return currency, nil
	}
	plans, err := g.client.Plans(ctx)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(plans, func(p Plan) bool { return p.ID == s.PlanID })
	if i < 0 {
		return "", fmt.Errorf("job: the gateway has no plan %q", s.PlanID)
	}
	return plans[i].Currency, nil
}

// toBilling converts a subscription of the gateway to the form that core uses.
func toBilling(s Subscription, currency, discountID string) (billing.Subscription, error) {
	m := minor{currency: currency}
	out := billing.Subscription{
		ID: s.ID, Customer: core.PaymentProviderID(s.CustomerID()), Status: billing.Status(s.Status), Trial: s.Trial, Currency: currency,
		Price:  m.of(s.Price) + m.all(s.AddOns, "") - m.all(s.Discounts, discountID),
		Opened: s.Created, Skipped: skipped(s), Begins: s.PeriodStart, Next: s.NextBilling,
	}
	var own Modification
	own, out.HasDiscount = s.Discount(discountID)
	out.Discount, out.Spent = m.times(own), own.Spent
	if !own.NeverExpires {
		out.Bills = max(0, own.Cycles-own.Spent)
	}
	charges := slices.Clone(s.Transactions)
	slices.Reverse(charges)
	slices.SortStableFunc(charges, func(a, b Transaction) int { return int(a.Created - b.Created) })
	for _, t := range charges {
		if t.Type != Sale || !t.Status.Paid() || t.Currency != currency {
			continue
		}
		if c := (billing.Charge{Transaction: t.ID, At: t.Created, Amount: m.of(t.Amount), Discount: m.one(t.Discounts, discountID), Period: t.PeriodStart, ChargedBack: t.ChargedBack()}); c.Amount > 0 {
			out.Charges = append(out.Charges, c)
		}
	}
	return out, m.err
}

// skipped returns the first day of the current billing cycle if the cycle counts as
// paid although nothing was charged in it, else "".
func skipped(s Subscription) string {
	inCycle := func(t Transaction) bool { return t.PeriodStart == s.PeriodStart }
	if s.Cycle == 0 || s.PaidThrough == "" || s.PaidThrough != s.PeriodEnd || slices.ContainsFunc(s.Transactions, inCycle) {
		return ""
	}
	return s.PeriodStart
}

// minor converts amounts to minor units of one currency, and keeps the first error.
type minor struct {
	currency string
	err      error
}

func (m *minor) of(a Amount) int64 {
	if a == "" {
		return 0
	}
	n, err := a.Minor(m.currency)
	if err != nil && m.err == nil {
		m.err = fmt.Errorf("job: amount %q in %s: %w", a, m.currency, err)
	}
	return n
}

func (m *minor) times(one Modification) int64 {
	return m.of(one.Amount) * int64(max(1, one.Quantity))
}

// all returns the sum of all modifications except the one with the given id.
func (m *minor) all(list []Modification, except string) (sum int64) {
	for _, one := range list {
		if one.ID != except {
			sum += m.times(one)
		}
	}
	return sum
}

func (m *minor) one(list []Modification, id string) (sum int64) {
	for _, one := range list {
		if one.ID == id {
			sum += m.times(one)
		}
	}
	return sum
}
