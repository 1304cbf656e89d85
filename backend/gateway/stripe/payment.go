package stripe

import (
	"context"
	"strings"

	sdk "github.com/stripe/stripe-go/v86"

	"kith/backend/gateway"
	"kith/core"
	"kith/core/billing"
)

// invoice returns a paid bill as a payment, without its refunds.
func (g *adapter) invoice(i *sdk.Invoice) billing.Payment {
	currency := currencyOf(i.Currency)
	p := billing.Payment{ID: i.ID, Currency: currency, Amount: fromStripe(i.AmountPaid, currency)}
	if i.Parent != nil && i.Parent.SubscriptionDetails != nil && i.Parent.SubscriptionDetails.Subscription != nil {
		p.Subscription = i.Parent.SubscriptionDetails.Subscription.ID
	}
	if t := i.StatusTransitions; t != nil {
		p.At = timeOf(t.PaidAt)
	}
	excluded := int64(0)
	if !g.c.CountTax {
		for _, tax := range i.TotalTaxes {
			excluded += tax.Amount
		}
	}
	if c := i.ShippingCost; c != nil && !g.c.CountShipping {
		excluded += c.AmountSubtotal
	}
	p.Revenue = billing.Revenue(p.Amount, fromStripe(i.Total, currency), fromStripe(excluded, currency))
	return p
}

// Payment reads a payment by the id of an invoice or of a payment intent. If a payment
// intent pays an invoice, the payment is the invoice. A payment intent that no checkout
// session made is no purchase.
func (g *adapter) Payment(ctx context.Context, id string) (p billing.Payment, err error) {
	var intents []string
	if !strings.HasPrefix(id, "in_") {
		paid, err := all(ctx, g.api.V1InvoicePayments.List(ctx, &sdk.InvoicePaymentListParams{
			ListParams: firstPage(), Payment: &sdk.InvoicePaymentListPaymentParams{Type: sdk.String("payment_intent"), PaymentIntent: sdk.String(id)},
		}))
		if err != nil {
			return p, err
		}
		if len(paid) == 0 {
			return g.order(ctx, id)
		}
		id = paid[0].Invoice.ID
	}
	params := &sdk.InvoiceRetrieveParams{}
	params.AddExpand("customer")
	i, err := g.api.V1Invoices.Retrieve(ctx, id, params)
	if err != nil {
		return p, portError(err)
	}
	if i.Status == sdk.InvoiceStatusPaid {
		p = g.invoice(i)
	} else {
		p = billing.Payment{ID: id, Currency: currencyOf(i.Currency)}
	}
	if intents, err = g.intentsOf(ctx, id); err != nil {
		return p, err
	}
	f := facts{customer: i.Customer, metadata: []map[string]string{i.Metadata}, email: i.CustomerEmail, name: i.CustomerName}
	for _, intent := range intents {
		if p.Subscription == "" {
			sessions, err := g.sessions(ctx, &sdk.CheckoutSessionListParams{PaymentIntent: sdk.String(intent)})
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
	p.Refunded = min(p.Refunded, p.Amount)
	return p, nil
}

// intentsOf returns the payment intents that paid an invoice.
func (g *adapter) intentsOf(ctx context.Context, invoice string) (ids []string, err error) {
	paid, err := all(ctx, g.api.V1InvoicePayments.List(ctx, &sdk.InvoicePaymentListParams{
		ListParams: firstPage(), Invoice: sdk.String(invoice), Status: sdk.String("paid"),
	}))
	for _, one := range paid {
		if one.Payment != nil && one.Payment.PaymentIntent != nil {
			ids = append(ids, one.Payment.PaymentIntent.ID)
		}
	}
	return ids, err
}

// order reads an order that a checkout session paid at once.
func (g *adapter) order(ctx context.Context, id string) (p billing.Payment, err error) {
	params := &sdk.PaymentIntentRetrieveParams{}
	params.AddExpand("customer")
	params.AddExpand("latest_charge")
	intent, err := g.api.V1PaymentIntents.Retrieve(ctx, id, params)
	if err != nil {
		return p, portError(err)
	}
	sessions, err := g.sessions(ctx, &sdk.CheckoutSessionListParams{PaymentIntent: sdk.String(id)})
	p.ID, p.Currency = id, currencyOf(intent.Currency)
	if err != nil || len(sessions) == 0 || intent.Status != sdk.PaymentIntentStatusSucceeded {
		return p, err
	}
	f := facts{customer: intent.Customer, metadata: []map[string]string{intent.Metadata}}
	f.addSessions(sessions)
	p.Payer = f.payer()
	if p.Payer.Customer == "" {
		p.Payer.Customer = guest(id)
	}
	p.Amount = fromStripe(intent.AmountReceived, p.Currency)
	p.At = timeOf(intent.Created)
	if charge := intent.LatestCharge; charge != nil && charge.Created != 0 {
		p.At = timeOf(charge.Created)
	}
	total, excluded := sessions[0].AmountTotal, int64(0)
	if d := sessions[0].TotalDetails; d != nil {
		if !g.c.CountTax {
			excluded += d.AmountTax
		}
		if !g.c.CountShipping {
			excluded += d.AmountShipping
		}
	}
	p.Revenue = billing.Revenue(p.Amount, fromStripe(total, p.Currency), fromStripe(excluded, p.Currency))
	if err := g.addRefunds(ctx, &p, id); err != nil {
		return p, err
	}
	p.Refunded = min(p.Refunded, p.Amount)
	return p, nil
}

// guest returns the id that stands for the customer of a payment without one.
func guest(intent string) core.PaymentProviderID {
	return core.PaymentProviderID("guest_" + strings.TrimPrefix(intent, "pi_"))
}

// addRefunds adds what was given back of a payment intent: refunds that have succeeded,
// and disputes that were lost.
func (g *adapter) addRefunds(ctx context.Context, p *billing.Payment, intent string) error {
	refunds, err := all(ctx, g.api.V1Refunds.List(ctx, &sdk.RefundListParams{ListParams: page(), PaymentIntent: sdk.String(intent)}))
	if err != nil {
		return err
	}
	for _, r := range refunds {
		switch r.Status {
		case sdk.RefundStatusSucceeded:
			p.Refunded += fromStripe(r.Amount, p.Currency)
		case sdk.RefundStatusPending, sdk.RefundStatusRequiresAction:
			p.Open = true
		}
	}
	disputes, err := g.disputes(ctx, intent)
	for _, d := range disputes {
		p.Disputed = true
		switch d.Status {
		case sdk.DisputeStatusLost:
			p.Refunded += fromStripe(d.Amount, p.Currency)
		case sdk.DisputeStatusWon, sdk.DisputeStatusWarningClosed, sdk.DisputeStatusPrevented:
		default:
			p.Open = true
		}
	}
	return err
}

func (g *adapter) disputes(ctx context.Context, intent string) ([]*sdk.Dispute, error) {
	return all(ctx, g.api.V1Disputes.List(ctx, &sdk.DisputeListParams{ListParams: page(), PaymentIntent: sdk.String(intent)}))
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
	made, err := all(ctx, g.api.V1Refunds.List(ctx, &sdk.RefundListParams{ListParams: page(), PaymentIntent: sdk.String(intent)}))
	if err != nil {
		return gateway.RefundResult{}, err
	}
	for _, one := range made {
		if one.Metadata[metaRefund] == order && one.Status != sdk.RefundStatusFailed && one.Status != sdk.RefundStatusCanceled {
			return gateway.RefundResult{ID: one.ID}, nil
		}
	}
	disputes, err := g.disputes(ctx, intent)
	if err != nil {
		return gateway.RefundResult{}, err
	}
	for _, d := range disputes {
		switch d.Status {
		case sdk.DisputeStatusLost:
			return gateway.RefundResult{State: gateway.Failed, Problem: "the charge was charged back"}, nil
		case sdk.DisputeStatusWon, sdk.DisputeStatusWarningClosed, sdk.DisputeStatusPrevented:
		default:
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
	params := &sdk.RefundCreateParams{
		PaymentIntent: sdk.String(intent), Amount: sdk.Int64(amount), Metadata: map[string]string{metaRefund: order},
	}
	params.SetIdempotencyKey(order + "-" + string(g.tenant) + "-" + itoa(r.KeyNumber))
	made, err := g.api.V1Refunds.Create(ctx, params)
	if err = portError(err); err == nil {
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
	list := g.api.V1CustomerBalanceTransactions.List(ctx, &sdk.CustomerBalanceTransactionListParams{ListParams: page(), Customer: sdk.String(string(o.Customer))})
	made, err := all(ctx, list)
	if err != nil {
		return "", err
	}
	for _, one := range made {
		if one.Metadata[metaCredit] == o.ID {
			return one.ID, nil
		}
	}
	params := &sdk.CustomerBalanceTransactionCreateParams{
		Customer: sdk.String(string(o.Customer)), Amount: sdk.Int64(-toStripe(o.Amount, o.Currency)), Currency: sdk.String(strings.ToLower(o.Currency)),
		Description: sdk.String("Referral credit"), Metadata: map[string]string{metaCredit: o.ID},
	}
	params.SetIdempotencyKey("kith-credit-" + o.ID)
	done, err := g.api.V1CustomerBalanceTransactions.Create(ctx, params)
	if err != nil {
		return "", portError(err)
	}
	return done.ID, nil
}
