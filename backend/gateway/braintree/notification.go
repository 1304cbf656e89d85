package braintree

import (
	"encoding/base64"
	"fmt"

	"kith/backend/gateway/xmltree"
)

// Kind is the kind of a notification.
type Kind string

// Kinds that the service acts on (gateway 1.3). The gateway has more, which are
// parsed too. No notification is sent when a subscription is created or edited; the
// service sees it at the next charge.
const (
	// Check is sent by the button of the control panel; its subject is empty.
	Check Kind = "check"

	// SubscriptionChargedSuccessfully is sent when a new cycle was paid, at a prorated
	// charge, and at the first charge of a subscription without a trial. The money has
	// not arrived yet.
	SubscriptionChargedSuccessfully Kind = "subscription_charged_successfully"
	// SubscriptionChargedUnsuccessfully is sent when a charge failed.
	SubscriptionChargedUnsuccessfully Kind = "subscription_charged_unsuccessfully"
	// SubscriptionBillingSkipped is sent for a cycle that cost nothing, or was covered
	// by a negative balance.
	SubscriptionBillingSkipped Kind = "subscription_billing_skipped"
	// SubscriptionWentActive is sent at the first charge of a subscription without a
	// trial, and when a Past Due subscription is paid.
	SubscriptionWentActive Kind = "subscription_went_active"
	// SubscriptionTrialEnded is sent before the first charge.
	SubscriptionTrialEnded  Kind = "subscription_trial_ended"
	SubscriptionWentPastDue Kind = "subscription_went_past_due"
	SubscriptionCanceled    Kind = "subscription_canceled"
	SubscriptionExpired     Kind = "subscription_expired"

	// Notifications of disputes are selected separately at the gateway.
	DisputeOpened       Kind = "dispute_opened"
	DisputeUnderReview  Kind = "dispute_under_review"
	DisputeDisputed     Kind = "dispute_disputed"
	DisputeWon          Kind = "dispute_won"
	DisputeLost         Kind = "dispute_lost"
	DisputeAccepted     Kind = "dispute_accepted"
	DisputeAutoAccepted Kind = "dispute_auto_accepted"
	DisputeExpired      Kind = "dispute_expired"
)

// Known reports whether the service acts on a kind.
func (k Kind) Known() bool {
	switch k {
	case Check, SubscriptionChargedSuccessfully, SubscriptionChargedUnsuccessfully, SubscriptionBillingSkipped, SubscriptionWentActive,
		SubscriptionTrialEnded, SubscriptionWentPastDue, SubscriptionCanceled, SubscriptionExpired, DisputeOpened, DisputeUnderReview,
		DisputeDisputed, DisputeWon, DisputeLost, DisputeAccepted, DisputeAutoAccepted, DisputeExpired:
		return true
	}
	return false
}

// Notification is a notification of the gateway, with the state at the time when it was
// made. It may arrive late, twice, and after a newer one: read the subscription again
// before money moves (gateway 1.5.4).
type Notification struct {
	Kind Kind
	// At most one of these is set, depending on the kind.
	Subscription *Subscription
	Transaction  *Transaction
	Dispute      *Dispute
}

// Dispute is a customer's objection to a charge.
type Dispute struct {
	// TransactionID is the disputed charge.
	TransactionID string
}

// ParseNotification parses bt_payload, with any line breaks in its base64. It does not
// verify the signature; see Keys.Verify.
func ParseNotification(payload string) (Notification, error) {
	if len(payload) > MaxPayload {
		return Notification{}, fmt.Errorf("gateway: a payload has at most %d bytes", MaxPayload)
	}
	// The decoder skips line breaks.
	doc, err := base64.StdEncoding.DecodeString(payload)
	if err != nil {
		return Notification{}, fmt.Errorf("gateway: the payload is not base64: %w", err)
	}
	root, err := xmltree.Parse(doc)
	if err != nil {
		return Notification{}, err
	}
	if root.Name != "notification" || root.Value("kind") == "" {
		return Notification{}, fmt.Errorf("gateway: the payload is not a notification")
	}
	r := reader{}
	n := r.notification(root)
	return n, r.err
}

func (r *reader) notification(root *xmltree.Node) Notification {
	n := Notification{Kind: Kind(root.Value("kind"))}
	subject := root.At("subject")
	if s := subject.At("subscription"); s != nil {
		read := r.subscription(s)
		n.Subscription = &read
	}
	if t := subject.At("transaction"); t != nil {
		read := r.transaction(t)
		n.Transaction = &read
	}
	if d := subject.At("dispute"); d != nil {
		n.Dispute = &Dispute{TransactionID: r.id(d.At("transaction"), "id")}
	}
	return n
}
