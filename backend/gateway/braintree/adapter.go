package braintree

import (
	"context"
	"errors"
	"strconv"

	"kith/backend/gateway"
	"kith/core"
	"kith/core/billing"
)

// Adapter is the implementation of the port.
var Adapter = gateway.Adapter{Dial: dial, Parse: parse}

// adapter is a merchant's gateway behind the port.
type adapter struct {
	client     *Client
	discountID string
}

// attempts is small: a failed task is tried again later, and other tasks can run until
// then.
const attempts = 2

// dial returns the gateway of a tenant. That of a test tenant calls the sandbox or the
// connection's base URL; that of a live tenant calls only the production host.
func dial(s gateway.Settings) (gateway.Gateway, error) {
	c := s.Connection
	if len(c.Keys) == 0 {
		return nil, errors.New("job: the gateway's connection has no key")
	}
	client, err := New(Config{
		MerchantID: c.MerchantID, Key: Key{Public: c.Keys[0].Public, Private: c.Keys[0].Private},
		Test: s.Test, BaseURL: c.BaseURL, Attempts: attempts,
	})
	if err != nil {
		return nil, err
	}
	return &adapter{client: client, discountID: s.DiscountID}, nil
}

// portError returns an error of the client as one of the port. An error about data stays
// as it is.
func portError(err error) error {
	var known *Error
	if !errors.As(err, &known) {
		return err
	}
	e := &gateway.Error{Action: gateway.Retry, RetryAfter: known.RetryAfter, Err: err}
	switch known.Action {
	case SetUp:
		e.Action = gateway.SetUp
	case Missing:
		e.Action = gateway.Missing
	case Alert:
		e.Action = gateway.Alert
	}
	return e
}

func isAction(err error, a Action) bool { return err != nil && ActionOf(err) == a }

// Check tests the keys, and looks for the tenant's discount.
func (g *adapter) Check(ctx context.Context) ([]billing.Check, error) {
	keys := billing.Check{Name: billing.CheckKeys, Help: "the gateway rejects the merchant id or the keys: connect with others"}
	discount := billing.Check{Name: billing.CheckDiscount, Help: "the merchant has no discount " + g.discountID + ": create it at the gateway"}
	offered, err := g.client.Discounts(ctx)
	switch ActionOf(err) {
	case SetUp, Missing:
		return []billing.Check{keys, discount}, nil
	}
	if err != nil {
		return nil, portError(err)
	}
	keys.OK = true
	for _, d := range offered {
		discount.OK = discount.OK || d.ID == g.discountID
	}
	return []billing.Check{keys, discount}, nil
}

// HasCustomer reports whether the merchant has a customer.
func (g *adapter) HasCustomer(ctx context.Context, customer core.PaymentProviderID) (bool, error) {
	_, err := g.client.Customer(ctx, string(customer))
	if isAction(err, Missing) {
		return false, nil
	}
	return err == nil, portError(err)
}

// SubscriptionsOf returns the subscriptions of all payment methods of a customer.
func (g *adapter) SubscriptionsOf(ctx context.Context, customer core.PaymentProviderID) (ids []string, err error) {
	found, err := g.client.Customer(ctx, string(customer))
	for _, method := range found.PaymentMethods {
		for _, s := range method.Subscriptions {
			ids = append(ids, s.ID)
		}
	}
	return ids, portError(err)
}

// couponField is the custom field that contains the code (spec 2.11.1).
const couponField = "svc_coupon"

// Code returns the code in the custom field of the customer.
func (g *adapter) Code(ctx context.Context, s billing.Subscription) (core.ReferralCode, error) {
	found, err := g.client.Customer(ctx, string(s.Customer))
	if err != nil {
		return "", portError(err)
	}
	code, err := core.ParseReferralCode(couponField, core.Trim(found.CustomFields[couponField]))
	if err != nil {
		return "", nil
	}
	return code, nil
}

// WriteCode writes a code into the custom field of a customer.
func (g *adapter) WriteCode(ctx context.Context, customer core.PaymentProviderID, code core.ReferralCode) error {
	_, err := g.client.SetCustomField(ctx, string(customer), couponField, string(code))
	return portError(err)
}

// SetDiscount sets the amount of the tenant's discount, with credit for the next bill
// only. The amount is absolute, so that the call may be repeated.
func (g *adapter) SetDiscount(ctx context.Context, s billing.Subscription, want billing.Discount) error {
	amount := NewAmount(want.Amount, s.Currency)
	added, updated := Duration{}, Duration{Forever: true}
	if want.Once() {
		added, updated = Duration{Bills: 1}, Duration{Bills: s.Spent + 1}
	} else if s.HasDiscount && s.Bills == 0 {
		updated = Duration{} // it applies to all bills already
	}
	var err error
	switch s.Change(want) {
	case billing.AddDiscount:
		if _, err = g.client.AddDiscount(ctx, s.ID, g.discountID, amount, added); isAction(err, SwitchToUpdate) {
			_, err = g.client.UpdateDiscount(ctx, s.ID, g.discountID, amount, updated)
		}
	case billing.UpdateDiscount:
		if _, err = g.client.UpdateDiscount(ctx, s.ID, g.discountID, amount, updated); isAction(err, SwitchToAdd) {
			_, err = g.client.AddDiscount(ctx, s.ID, g.discountID, amount, added)
		}
	case billing.RemoveDiscount:
		_, err = g.client.RemoveDiscount(ctx, s.ID, g.discountID)
	}
	if isAction(err, AlreadyDone) || isAction(err, Park) || isAction(err, Terminal) {
		return nil
	}
	return portError(err)
}

// refundOrder returns the order id of the refund that Kith makes of a charge.
func refundOrder(charge string) string { return "svc-refund-" + charge }

// Refund gives money back, at most once: it first checks whether the refund exists, and
// repeats the request under the same key while the result is unknown.
func (g *adapter) Refund(ctx context.Context, r gateway.RefundOrder) (gateway.RefundResult, error) {
	order := refundOrder(r.Transaction)
	sale, err := g.client.Transaction(ctx, r.Transaction)
	switch {
	case err != nil:
		return gateway.RefundResult{}, portError(err)
	case !sale.Status.Paid():
		return gateway.RefundResult{State: gateway.Failed, Problem: "the charge is " + string(sale.Status)}, nil
	case sale.ChargedBack():
		return gateway.RefundResult{State: gateway.Failed, Problem: "the charge was charged back"}, nil
	case !sale.Status.Refundable(), sale.Disputed():
		// While a dispute is open, the bank may give the same money back.
		return gateway.RefundResult{State: gateway.Waits}, nil
	}
	given, found, err := g.client.FindRefund(ctx, r.Transaction, order)
	if err == nil && !found {
		given, err = g.client.Refund(ctx, r.Transaction, Refund{
			Amount: NewAmount(r.Amount, r.Currency), OrderID: order, Key: order + "-" + strconv.Itoa(r.KeyNumber),
		})
	}
	switch {
	case err == nil:
		return gateway.RefundResult{ID: given.ID}, nil
	case isAction(err, AwaitSettlement), isAction(err, ReadBack):
		// A refusal uses up the key. If the refund was made anyway, FindRefund finds it.
		return gateway.RefundResult{State: gateway.Refused, Problem: err.Error()}, nil
	case isAction(err, Retry), isAction(err, SetUp):
		return gateway.RefundResult{}, portError(err)
	}
	return gateway.RefundResult{State: gateway.Failed, Problem: err.Error()}, nil
}

// Find searches for subscriptions.
func (g *adapter) Find(ctx context.Context, s gateway.Search) (found gateway.Found, err error) {
	if s.From != 0 {
		found.Subscriptions, err = g.client.SubscriptionIDs(ctx, Search{CreatedFrom: s.From})
	}
	if err == nil && s.All {
		var all []string
		all, err = g.client.SubscriptionIDs(ctx, Search{Statuses: []Status{Pending, Active, PastDue}})
		found.Subscriptions = append(found.Subscriptions, all...)
	}
	return found, portError(err)
}

// parse returns the kind of a notification and the id of its object. The rest of the
// payload is ignored: it is as old as the notification.
func parse(payload string) gateway.Notification {
	n, err := ParseNotification(payload)
	if err != nil {
		return gateway.Notification{Problem: err.Error()}
	}
	news := gateway.Notification{Kind: string(n.Kind), Known: n.Kind.Known()}
	switch {
	case n.Subscription != nil:
		news.Subscription = n.Subscription.ID
	case n.Transaction != nil:
		news.Subscription = n.Transaction.SubscriptionID
	case n.Dispute != nil:
		news.Transaction = n.Dispute.TransactionID
	}
	return news
}
