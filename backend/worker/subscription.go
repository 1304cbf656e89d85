package worker

import (
	"context"
	"fmt"
	"slices"

	"kith/backend/app/payments"
	"kith/backend/gateway"
	"kith/core"
	"kith/core/billing"
)

// read reads a subscription at the gateway and, as long as it can still refer
// somebody, the code in its customer's custom field.
func (g *gateways) read(ctx context.Context, client *gateway.Client, task payments.BillingTask) (s billing.Subscription, code core.ReferralCode, err error) {
	found, err := client.Subscription(ctx, task.Subscription)
	if err != nil {
		return s, "", err
	}
	if err := g.addFirstCharge(ctx, client, task, &found); err != nil {
		return s, "", err
	}
	currency, err := currencyOf(ctx, client, found)
	if err != nil {
		return s, "", err
	}
	if s, err = subscription(found, currency, task.DiscountID); err != nil {
		return s, "", err
	}
	if s.Customer == "" && found.PaymentMethod != "" {
		method, err := client.PaymentMethod(ctx, found.PaymentMethod)
		if err != nil {
			return s, "", err
		}
		s.Customer = core.PaymentProviderID(method.CustomerID)
	}
	code, err = g.code(ctx, client, task.Tenant, s.Customer)
	return s, code, err
}

// addFirstCharge reads the charge by which the account converted, when it is not
// among the latest that the gateway shows.
func (g *gateways) addFirstCharge(ctx context.Context, client *gateway.Client, task payments.BillingTask, s *gateway.Subscription) error {
	first, err := g.engine.Billing.FirstCharge(ctx, task.Tenant, task.Subscription)
	if err != nil || first == "" || slices.ContainsFunc(s.Transactions, func(t gateway.Transaction) bool { return t.ID == first }) {
		return err
	}
	charge, err := client.Transaction(ctx, first)
	switch {
	case isAction(err, gateway.Missing):
		return nil
	case err == nil:
		s.Transactions = append(s.Transactions, charge)
	}
	return err
}

// couponField is the custom field that has the code (spec, Payment gateway
// set-up constants).
const couponField = "svc_coupon"

// code is the one in a customer's custom field; a text that is none is none.
func (g *gateways) code(ctx context.Context, client *gateway.Client, tenant core.TenantAlias, customer core.PaymentProviderID) (core.ReferralCode, error) {
	wanted, err := g.engine.Billing.WantsCode(ctx, tenant, customer)
	if err != nil || !wanted {
		return "", err
	}
	found, err := client.Customer(ctx, string(customer))
	if err != nil {
		return "", err
	}
	code, err := core.ParseReferralCode(couponField, found.CustomFields[couponField])
	if err != nil {
		return "", nil
	}
	return code, nil
}

// currencyOf is the currency of a subscription: its plan's, while it has no
// transaction.
func currencyOf(ctx context.Context, client *gateway.Client, s gateway.Subscription) (string, error) {
	if currency := s.Currency(); currency != "" {
		return currency, nil
	}
	plans, err := client.Plans(ctx)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(plans, func(p gateway.Plan) bool { return p.ID == s.PlanID })
	if i < 0 {
		return "", fmt.Errorf("job: the gateway has no plan %q", s.PlanID)
	}
	return plans[i].Currency, nil
}

// subscription is one as core decides about it.
func subscription(s gateway.Subscription, currency, discountID string) (billing.Subscription, error) {
	m := minor{currency: currency}
	out := billing.Subscription{
		ID: s.ID, Customer: core.PaymentProviderID(s.CustomerID()), Status: billing.Status(s.Status), Trial: s.Trial, Currency: currency,
		Price:  m.of(s.Price) + m.all(s.AddOns, "") - m.all(s.Discounts, discountID),
		Opened: s.Created, Skipped: skipped(s),
	}
	var own gateway.Modification
	own, out.Has = s.Discount(discountID)
	out.Discount = m.times(own)
	charges := slices.Clone(s.Transactions)
	slices.Reverse(charges)
	slices.SortStableFunc(charges, func(a, b gateway.Transaction) int { return int(a.Created - b.Created) })
	for _, t := range charges {
		if t.Type != gateway.Sale || !t.Status.Paid() || t.Currency != currency {
			continue
		}
		if c := (billing.Charge{Transaction: t.ID, At: t.Created, Amount: m.of(t.Amount), Discount: m.one(t.Discounts, discountID), Period: t.PeriodStart, ChargedBack: t.ChargedBack()}); c.Amount > 0 {
			out.Charges = append(out.Charges, c)
		}
	}
	return out, m.err
}

// skipped is the first day of the present cycle when it counts as paid, though
// nothing was charged in it; else empty.
func skipped(s gateway.Subscription) string {
	inCycle := func(t gateway.Transaction) bool { return t.PeriodStart == s.PeriodStart }
	if s.Cycle == 0 || s.PaidThrough == "" || s.PaidThrough != s.PeriodEnd || slices.ContainsFunc(s.Transactions, inCycle) {
		return ""
	}
	return s.PeriodStart
}

// minor turns amounts into minor units of one currency, and keeps the first
// error.
type minor struct {
	currency string
	err      error
}

func (m *minor) of(a gateway.Amount) int64 {
	if a == "" {
		return 0
	}
	n, err := a.Minor(m.currency)
	if err != nil && m.err == nil {
		m.err = fmt.Errorf("job: amount %q in %s: %w", a, m.currency, err)
	}
	return n
}

func (m *minor) times(one gateway.Modification) int64 {
	return m.of(one.Amount) * int64(max(1, one.Quantity))
}

// all sums up modifications, but for one.
func (m *minor) all(list []gateway.Modification, but string) (sum int64) {
	for _, one := range list {
		if one.ID != but {
			sum += m.times(one)
		}
	}
	return sum
}

func (m *minor) one(list []gateway.Modification, id string) (sum int64) {
	for _, one := range list {
		if one.ID == id {
			sum += m.times(one)
		}
	}
	return sum
}
