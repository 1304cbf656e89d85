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
	// From is the time since which subscriptions were created; zero searches for none.
	From core.Time
	// All is true to search for all subscriptions that will be billed again.
	All bool
}

// Found is the result of a search.
type Found struct {
	// Subscriptions are the ids of subscriptions.
	Subscriptions []string
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
