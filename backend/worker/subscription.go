package worker

import (
	"context"
	"fmt"
	"slices"

	"kith/backend/app/payments"
	"kith/backend/gateway/braintree"
	"kith/core"
	"kith/core/billing"
)

// read reads a subscription at the gateway and, while the account may still be
// referred, the code in its customer's custom field.
func (g *gateways) read(ctx context.Context, client *braintree.Client, task payments.BillingTask) (s billing.Subscription, code core.ReferralCode, err error) {
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

// addFirstCharge adds the charge by which the account converted, when it is not among
// the latest charges in the gateway's answer.
func (g *gateways) addFirstCharge(ctx context.Context, client *braintree.Client, task payments.BillingTask, s *braintree.Subscription) error {
	first, err := g.engine.Billing.FirstCharge(ctx, task.Tenant, task.Subscription)
	if err != nil || first == "" || slices.ContainsFunc(s.Transactions, func(t braintree.Transaction) bool { return t.ID == first }) {
		return err
	}
	charge, err := client.Transaction(ctx, first)
	switch {
	case isAction(err, braintree.Missing):
		return nil
	case err == nil:
		s.Transactions = append(s.Transactions, charge)
	}
	return err
}

// couponField is the custom field that contains the code (spec 2.11.1).
const couponField = "svc_coupon"

// code returns the code in a customer's custom field, or "" if the field has no valid code.
func (g *gateways) code(ctx context.Context, client *braintree.Client, tenant core.TenantAlias, customer core.PaymentProviderID) (core.ReferralCode, error) {
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

// currencyOf returns the currency of a subscription. While the subscription has no
// transaction, it is the currency of its plan.
func currencyOf(ctx context.Context, client *braintree.Client, s braintree.Subscription) (string, error) {
	if currency := s.Currency(); currency != "" {
		return currency, nil
	}
	plans, err := client.Plans(ctx)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(plans, func(p braintree.Plan) bool { return p.ID == s.PlanID })
	if i < 0 {
		return "", fmt.Errorf("job: the gateway has no plan %q", s.PlanID)
	}
	return plans[i].Currency, nil
}

// subscription converts a subscription of the gateway to the form that core uses.
func subscription(s braintree.Subscription, currency, discountID string) (billing.Subscription, error) {
	m := minor{currency: currency}
	out := billing.Subscription{
		ID: s.ID, Customer: core.PaymentProviderID(s.CustomerID()), Status: billing.Status(s.Status), Trial: s.Trial, Currency: currency,
		Price:  m.of(s.Price) + m.all(s.AddOns, "") - m.all(s.Discounts, discountID),
		Opened: s.Created, Skipped: skipped(s), Begins: s.PeriodStart, Next: s.NextBilling,
	}
	var own braintree.Modification
	own, out.HasDiscount = s.Discount(discountID)
	out.Discount, out.Spent = m.times(own), own.Spent
	if !own.NeverExpires {
		out.Bills = max(0, own.Cycles-own.Spent)
	}
	charges := slices.Clone(s.Transactions)
	slices.Reverse(charges)
	slices.SortStableFunc(charges, func(a, b braintree.Transaction) int { return int(a.Created - b.Created) })
	for _, t := range charges {
		if t.Type != braintree.Sale || !t.Status.Paid() || t.Currency != currency {
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
func skipped(s braintree.Subscription) string {
	inCycle := func(t braintree.Transaction) bool { return t.PeriodStart == s.PeriodStart }
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

func (m *minor) of(a braintree.Amount) int64 {
	if a == "" {
		return 0
	}
	n, err := a.Minor(m.currency)
	if err != nil && m.err == nil {
		m.err = fmt.Errorf("job: amount %q in %s: %w", a, m.currency, err)
	}
	return n
}

func (m *minor) times(one braintree.Modification) int64 {
	return m.of(one.Amount) * int64(max(1, one.Quantity))
}

// all returns the sum of all modifications except the one with the given id.
func (m *minor) all(list []braintree.Modification, except string) (sum int64) {
	for _, one := range list {
		if one.ID != except {
			sum += m.times(one)
		}
	}
	return sum
}

func (m *minor) one(list []braintree.Modification, id string) (sum int64) {
	for _, one := range list {
		if one.ID == id {
			sum += m.times(one)
		}
	}
	return sum
}
