package stripe

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"

	"kith/backend/gateway"
	"kith/core"
	"kith/core/billing"
)

// invoice returns a paid bill as a payment, without its refunds.
func (g *adapter) invoice(i invoice) billing.Payment {
	currency := currencyOf(i.Currency)
	p := billing.Payment{
		ID: i.ID, Currency: currency, Amount: fromStripe(i.AmountPaid, currency), At: timeOf(i.Transitions.PaidAt),
		Subscription: string(i.Parent.SubscriptionDetails.Subscription),
	}
	tax, shipping := int64(0), int64(0)
	for _, one := range i.TotalTaxes {
		tax += one.Amount
	}
	if c := i.ShippingCost; c != nil {
		shipping = c.Amount
	}
	g.setRevenue(&p, i.Total, tax, shipping)
	return p
}

// setRevenue sets what of a payment counts, from Stripe's amounts of the bill.
func (g *adapter) setRevenue(p *billing.Payment, total, tax, shipping int64) {
	excluded := int64(0)
	if !g.c.CountTax {
		excluded += tax
	}
	if !g.c.CountShipping {
		excluded += shipping
	}
	p.Revenue = billing.Revenue(p.Amount, fromStripe(total, p.Currency), fromStripe(excluded, p.Currency))
}

// Payment reads a payment by the id of an invoice or of a payment intent. If a payment
// intent pays an invoice, the payment is the invoice. A payment intent that no checkout
// session made is no purchase.
func (g *adapter) Payment(ctx context.Context, id string) (p billing.Payment, err error) {
	if !strings.HasPrefix(id, "in_") {
		paid, err := latest[invoicePayment](ctx, g.api, params{"limit": {pageSize}, "payment[type]": {"payment_intent"}, "payment[payment_intent]": {id}}, "invoice_payments")
		if err != nil {
			return p, err
		}
		if len(paid) == 0 {
			return g.order(ctx, id)
		}
		id = string(paid[0].Invoice)
	}
	i, err := get[invoice](ctx, g.api, expand(params{}, "customer", "total_discount_amounts.discount"), "invoices", id)
	if err != nil {
		return p, err
	}
	if i.Status == invoicePaidUp {
		p = g.invoice(i)
	} else {
		p = billing.Payment{ID: id, Currency: currencyOf(i.Currency)}
	}
	intents, err := g.intentsOf(ctx, id)
	if err != nil {
		return p, err
	}
	f := facts{customer: i.Customer, metadata: []map[string]string{i.Metadata}, email: i.CustomerEmail, name: i.CustomerName}
	for _, intent := range intents {
		if p.Subscription == "" {
			sessions, err := g.sessions(ctx, "payment_intent", intent)
			if err != nil {
				return p, err
			}
			f.addSessions(sessions)
		}
		if err := g.addRefunds(ctx, &p, intent); err != nil {
			return p, err
		}
	}
	p.Payer = f.payer()
	return p, nil
}

// intentsOf returns the payment intents that paid an invoice.
func (g *adapter) intentsOf(ctx context.Context, invoice string) (ids []string, err error) {
	paid, err := latest[invoicePayment](ctx, g.api, params{"limit": {pageSize}, "invoice": {invoice}, "status": {"paid"}}, "invoice_payments")
	for _, one := range paid {
		if intent := one.Payment.PaymentIntent; intent != "" {
			ids = append(ids, string(intent))
		}
	}
	return ids, err
}

// order reads an order that a checkout session paid at once.
func (g *adapter) order(ctx context.Context, id string) (p billing.Payment, err error) {
	intent, err := get[paymentIntent](ctx, g.api, expand(params{}, "customer", "latest_charge"), "payment_intents", id)
	if err != nil {
		return p, err
	}
	sessions, err := g.sessions(ctx, "payment_intent", id)
	p.ID, p.Currency = id, currencyOf(intent.Currency)
	if err != nil || len(sessions) == 0 || intent.Status != succeeded {
		return p, err
	}
	f := facts{customer: intent.Customer, metadata: []map[string]string{intent.Metadata}}
	f.addSessions(sessions)
	p.Payer = f.payer()
	if p.Payer.Customer == "" {
		p.Payer.Customer = guest(id)
	}
	p.Amount = fromStripe(intent.AmountReceived, p.Currency)
	p.At = timeOf(cmp.Or(intent.LatestCharge.Created, intent.Created))
	total, details := sessions[0].AmountTotal, sessions[0].TotalDetails
	if total == nil {
		return p, lost(errors.New("the checkout session has no amount_total"))
	}
	g.setRevenue(&p, *total, details.AmountTax, details.AmountShipping)
	err = g.addRefunds(ctx, &p, id)
	return p, err
}

// guest returns the id that stands for the customer of a payment without one.
func guest(intent string) core.PaymentProviderID {
	return core.PaymentProviderID("guest_" + strings.TrimPrefix(intent, "pi_"))
}

// addRefunds adds what was given back of a payment intent: refunds that have succeeded,
// and disputes that were lost. A refund that Kith made, of a friend's share of the first
// bill, is none of the order. No more than the payment counts as given back.
func (g *adapter) addRefunds(ctx context.Context, p *billing.Payment, intent string) error {
	refunds, err := list[refund](ctx, g.api, pageOf("payment_intent", intent), "refunds")
	if err != nil {
		return err
	}
	for _, r := range refunds {
		switch r.Status {
		case succeeded:
			if r.Metadata[metaRefund] != "" {
				p.Returned += fromStripe(r.Amount, p.Currency)
				continue
			}
			p.Refunded += fromStripe(r.Amount, p.Currency)
			p.RefundedAt = max(p.RefundedAt, timeOf(r.Created))
		case "pending", "requires_action":
			p.Open = true
		}
	}
	disputes, err := g.disputes(ctx, intent)
	for _, d := range disputes {
		p.Disputed, p.Open = true, p.Open || d.open()
		if d.Status == disputeLost {
			p.Refunded += fromStripe(d.Amount, p.Currency)
		}
	}
	p.Refunded = min(p.Refunded, p.Amount)
	return err
}

func (g *adapter) disputes(ctx context.Context, intent string) ([]dispute, error) {
	return list[dispute](ctx, g.api, pageOf("payment_intent", intent), "disputes")
}

// The metadata by which what Kith made is found again.
const (
	metaRefund = "kith_refund"
	metaCredit = "kith_credit"
)

// Refund gives a part of a bill back, at most once: it first looks for the refund, and
// repeats the request under the same key while the result is unknown.
func (g *adapter) Refund(ctx context.Context, r gateway.RefundOrder) (gateway.RefundResult, error) {
	intents, err := g.intentsOf(ctx, r.Transaction)
	if err != nil {
		return gateway.RefundResult{}, err
	}
	if len(intents) == 0 {
		return gateway.RefundResult{State: gateway.Failed, Problem: "the invoice was not paid by a payment at the gateway"}, nil
	}
	intent, order := intents[0], "kith-refund-"+r.Transaction
	made, err := list[refund](ctx, g.api, pageOf("payment_intent", intent), "refunds")
	if err != nil {
		return gateway.RefundResult{}, err
	}
	for _, one := range made {
		if one.Metadata[metaRefund] == order && one.Status != "failed" && one.Status != "canceled" {
			return gateway.RefundResult{ID: one.ID}, nil
		}
	}
	disputes, err := g.disputes(ctx, intent)
	if err != nil {
		return gateway.RefundResult{}, err
	}
	for _, d := range disputes {
		switch {
		case d.Status == disputeLost:
			return gateway.RefundResult{State: gateway.Failed, Problem: "the charge was charged back"}, nil
		case d.open():
			// While a dispute is open, the bank may give the same money back.
			return gateway.RefundResult{State: gateway.Waits}, nil
		}
	}
	return g.refund(ctx, intent, order, r)
}

func (g *adapter) refund(ctx context.Context, intent, order string, r gateway.RefundOrder) (gateway.RefundResult, error) {
	amount := toStripe(r.Amount, r.Currency)
	if amount == 0 {
		return gateway.RefundResult{State: gateway.Failed, Problem: "the amount is less than the gateway can refund"}, nil
	}
	key := order + "-" + string(g.tenant) + "-" + strconv.Itoa(r.KeyNumber)
	made, err := postOnce[refund](ctx, g.api, key, params{"payment_intent": {intent}, "amount": {decimal(amount)}, "metadata[" + metaRefund + "]": {order}}, "refunds")
	if err == nil {
		return gateway.RefundResult{ID: made.ID}, nil
	}
	switch gateway.ActionOf(err) {
	case gateway.Retry, gateway.SetUp:
		return gateway.RefundResult{}, err
	}
	return gateway.RefundResult{State: gateway.Failed, Problem: err.Error()}, nil
}

// GiveCredit adds credit to the balance of a customer, at most once, and returns the id of
// the balance transaction. It first looks for the transaction among the customer's.
func (g *adapter) GiveCredit(ctx context.Context, o gateway.CreditOrder) (string, error) {
	path := []string{"customers", string(o.Customer), "balance_transactions"}
	made, err := list[balanceTransaction](ctx, g.api, page(), path...)
	if err != nil {
		return "", err
	}
	for _, one := range made {
		if one.Metadata[metaCredit] == o.ID {
			return one.ID, nil
		}
	}
	done, err := postOnce[balanceTransaction](ctx, g.api, "kith-credit-"+o.ID, params{
		"amount": {decimal(-toStripe(o.Amount, o.Currency))}, "currency": {strings.ToLower(o.Currency)},
		"description": {"Referral credit"}, "metadata[" + metaCredit + "]": {o.ID},
	}, path...)
	return done.ID, err
}
