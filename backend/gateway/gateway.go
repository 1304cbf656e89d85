// Package gateway is the port to payment gateways: what the service needs from any of
// them. Each gateway is a package below this one, which translates between the gateway's
// protocol and core/billing, and has no rule of a program. To add a gateway, write such a
// package, and add it to the list in package worker.
//
// Every implementation guarantees:
//
//   - A notification is believed only if it is signed with a secret of the tenant, and
//     only names what is to be read. Amounts are always read from the gateway.
//   - Each write is absolute or has a key, so that repeating it has no further effect.
//   - A live connection calls only the gateway's own host.
package gateway

import (
	"context"

	"kith/core"
	"kith/core/billing"
)

// Settings are what an implementation needs to call the gateway of a tenant.
type Settings struct {
	Tenant core.TenantAlias
	// Test is true for a test tenant. A live connection ignores the base URL of
	// Connection.
	Test       bool
	Connection billing.Connection
	// DiscountID is the id of the tenant's discount at the gateway.
	DiscountID string
}

// Gateway is a tenant's payment gateway. Its methods may be called concurrently. The error
// of a call that failed is an *Error; any other error is about an answer that makes no
// sense.
type Gateway interface {
	// Check asks the gateway for each thing that the connection needs there. An error
	// means that the gateway does not answer; what is missing is in the result.
	Check(ctx context.Context) ([]billing.Check, error)
	// HasCustomer reports whether the gateway has a customer.
	HasCustomer(ctx context.Context, customer core.PaymentProviderID) (bool, error)
	// Subscription reads a subscription. first is the charge by which its account
	// converted, or empty: the result has it even if it is old.
	Subscription(ctx context.Context, id, first string) (billing.Subscription, error)
	// SubscriptionsOf returns the ids of all subscriptions of a customer.
	SubscriptionsOf(ctx context.Context, customer core.PaymentProviderID) ([]string, error)
	// Code returns the referral code that the gateway has for the customer of a
	// subscription, or "".
	Code(ctx context.Context, s billing.Subscription) (core.ReferralCode, error)
	// WriteCode shows the merchant which code referred a customer.
	WriteCode(ctx context.Context, customer core.PaymentProviderID, code core.ReferralCode) error
	// SetDiscount makes the discount of a subscription equal to want. A subscription that
	// cannot be changed any more is no error: its next notification brings it here again.
	SetDiscount(ctx context.Context, s billing.Subscription, want billing.Discount) error
	// Refund gives back a part of a charge, at most once for each order, and reports
	// the result.
	Refund(ctx context.Context, order RefundOrder) (RefundResult, error)
	// Find searches for what no notification has named.
	Find(ctx context.Context, s Search) (Found, error)
}

// Itemizer is a gateway that names payments one by one, and has codes that customers
// enter: those of its methods are needed for a billing.Subscription with Itemized.
type Itemizer interface {
	Gateway
	// Payment reads a payment. The ID of the result may be another one: that of the bill
	// which the payment with the given id has paid.
	Payment(ctx context.Context, id string) (billing.Payment, error)
	// GiveCredit adds credit to the balance of a customer, at most once for each order,
	// and returns the id of the balance transaction.
	GiveCredit(ctx context.Context, order CreditOrder) (string, error)
	// SetPromotion makes a referral code a code that customers can enter, with the terms
	// of the order and no others.
	SetPromotion(ctx context.Context, order PromotionOrder) (Promotion, error)
	// CouponOf returns the id of the coupon with the terms of an order, or "" if it has
	// none: the order is done while Promotion.Coupon is that.
	CouponOf(order PromotionOrder) string
	// PromotionForm reports whether a referral code has the form of such a code.
	PromotionForm(code core.ReferralCode) bool
	// Connect returns the connection with what the gateway knows of it, and has the
	// gateway send notifications to url, unless that is empty.
	Connect(ctx context.Context, url string) (billing.Connection, error)
	// WebhookURL returns the URL to which the gateway sends notifications of the connection,
	// or "" if it sends none, or does not show the URL to the key.
	WebhookURL(ctx context.Context) (string, error)
	// Tidy ends what former connections have left at the gateway: what sends notifications
	// to url, or has the id former, and is not of this connection.
	Tidy(ctx context.Context, url, former string) error
	// Disconnect has the gateway send no further notifications.
	Disconnect(ctx context.Context) error
	// SendTest has the gateway send a notification whose Kind is billing.CheckKind.
	SendTest(ctx context.Context) error
}

// CreditOrder orders credit for a customer.
type CreditOrder struct {
	// ID is the order's own; there is one order with it.
	ID       string
	Customer core.PaymentProviderID
	// Amount is in minor units of Currency.
	Amount   int64
	Currency string
}

// PromotionOrder orders a code that customers can enter. With the zero Terms it is to be
// inactive.
type PromotionOrder struct {
	Code core.ReferralCode
	billing.Terms
}

// Promotion is a code that customers can enter: its id at the gateway, and that of the
// coupon with its terms.
type Promotion struct{ ID, Coupon string }

// RefundOrder orders a refund.
type RefundOrder struct {
	// Transaction is the charge. There is one order for a charge.
	Transaction string
	// Amount is in minor units of Currency.
	Amount   int64
	Currency string
	// KeyNumber is part of the idempotency key. It is to be increased after Refused.
	KeyNumber int
}

// RefundState is the state of an order.
type RefundState int

const (
	// Made: the refund exists; RefundResult.ID is its id.
	Made RefundState = iota
	// Waits: the charge cannot be refunded yet; nothing was tried.
	Waits
	// Refused: the gateway refused the refund for now. The next order needs another
	// KeyNumber.
	Refused
	// Failed: the charge cannot be refunded any more. RefundResult.Problem says why.
	Failed
)

// RefundResult is the result of an order.
type RefundResult struct {
	State       RefundState
	ID, Problem string
}

// Search says what to search for.
type Search struct {
	// From is the time since which notifications may have been lost; zero searches for
	// none. A gateway that lists no notifications searches for subscriptions that were
	// created since.
	From core.Time
	// All is true to search for all subscriptions that will be billed again.
	All bool
}

// Found is the result of a search.
type Found struct {
	// Subscriptions and Payments are ids.
	Subscriptions, Payments []string
	// Notifications are those that the gateway has sent, or tried to send.
	Notifications []Sent
}

// Sent is a notification that a gateway lists.
type Sent struct {
	// Identity is by what it is known when it arrives again.
	Identity, Payload string
}

// Notification is what the service uses of a notification.
type Notification struct {
	// Kind is the gateway's name of the kind. Problem says why the notification cannot
	// be parsed, or is empty.
	Kind, Problem string
	// Known is true for a kind that the service uses.
	Known bool
	// Subscription is the id of the subscription to read, or empty if the notification
	// names none.
	Subscription string
	// Payment is the id of a payment to read, and Customer that of a customer whose
	// subscriptions are to be read; either may be empty.
	Payment, Customer string
	// Transaction is the id of a charge whose subscription is to be read, if the
	// notification does not name the subscription itself.
	Transaction string
}

// Adapter is the implementation of a kind of gateway.
type Adapter struct {
	// Dial returns the gateway of a tenant, or an error about invalid settings. It makes
	// no call.
	Dial func(Settings) (Gateway, error)
	// Parse parses a stored notification.
	Parse func(payload string) Notification
}
