package stripe

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"kith/backend/gateway"
	"kith/core/billing"
)

// MaxPayload bounds the body of a webhook, in bytes.
const MaxPayload = 1 << 20

// maxSignature bounds the header with the signatures, in bytes: Stripe sends one for each
// secret.
const maxSignature = 4 << 10

// Tolerance is by how much the time of a signature may differ from the receiver's clock.
const Tolerance = 5 * time.Minute

var (
	// ErrSignature reports a webhook that none of the secrets signed. The answer is 401.
	ErrSignature = errors.New("gateway: the webhook is not signed with a known secret")
	// ErrTime reports a signature that is too old or of the future. The answer is 401.
	ErrTime = errors.New("gateway: the signature was not made within the last 5 minutes")
)

// Verify returns nil if one of the secrets signed the payload, and the time of the
// signature is within Tolerance of now (gateway 4.2.2).
func Verify(secrets []string, header string, payload []byte, now time.Time) error {
	if len(header) > maxSignature || len(payload) > MaxPayload {
		return ErrSignature
	}
	at, signatures, ok := readSignature(header)
	if !ok || !slices.ContainsFunc(secrets, func(secret string) bool { return secret != "" && signed(secret, at, payload, signatures) }) {
		return ErrSignature
	}
	if age := now.Sub(time.Unix(at, 0)); age > Tolerance || age < -Tolerance {
		return ErrTime
	}
	return nil
}

// readSignature reads the time, in seconds, and the signatures of a header. It ignores
// signatures of other schemes than v1, and those that are not hex.
func readSignature(header string) (at int64, signatures [][]byte, ok bool) {
	for pair := range strings.SplitSeq(header, ",") {
		name, value, found := strings.Cut(pair, "=")
		if !found || strings.Contains(value, "=") {
			return 0, nil, false
		}
		switch name {
		case "t":
			var err error
			if at, err = strconv.ParseInt(value, 10, 64); err != nil {
				return 0, nil, false
			}
		case "v1":
			if signature, err := hex.DecodeString(value); err == nil {
				signatures = append(signatures, signature)
			}
		}
	}
	return at, signatures, true
}

// signed reports whether one of the signatures is that of a secret.
func signed(secret string, at int64, payload []byte, signatures [][]byte) bool {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(append(strconv.AppendInt(nil, at, 10), '.'))
	mac.Write(payload)
	want := mac.Sum(nil)
	return slices.ContainsFunc(signatures, func(signature []byte) bool { return hmac.Equal(signature, want) })
}

// Event is what a receiver reads of a webhook.
type Event struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Livemode bool   `json:"livemode"`
	Data     struct {
		Object object `json:"object"`
	} `json:"data"`
}

// object is the object of an event. Fields that name another object have its id, or the
// object itself.
type object struct {
	ID            string `json:"id"`
	Subscription  named  `json:"subscription"`
	PaymentIntent named  `json:"payment_intent"`
	Parent        parent `json:"parent"`
}

// ParseEvent parses the body of a webhook. It does not verify the signature.
func ParseEvent(payload []byte) (e Event, err error) {
	if err = json.Unmarshal(payload, &e); err != nil {
		return e, errors.New("gateway: the webhook is not an event: " + err.Error())
	}
	if e.ID == "" || e.Type == "" {
		return e, errors.New("gateway: the webhook is not an event: it has no id or no type")
	}
	return e, nil
}

// The types of events that Kith subscribes to (gateway 4.2.5).
const (
	sessionCompleted    = "checkout.session.completed"
	sessionPaid         = "checkout.session.async_payment_succeeded"
	subscriptionCreated = "customer.subscription.created"
	subscriptionUpdated = "customer.subscription.updated"
	subscriptionDeleted = "customer.subscription.deleted"
	invoicePaid         = "invoice.paid"
	invoiceFailed       = "invoice.payment_failed"
	chargeRefunded      = "charge.refunded"
	disputeCreated      = "charge.dispute.created"
	disputeClosed       = "charge.dispute.closed"
	customerUpdated     = "customer.updated"
	couponDeleted       = "coupon.deleted"
)

// Events returns the types of events that Kith subscribes to.
func Events() []string {
	return []string{
		sessionCompleted, sessionPaid, subscriptionCreated, subscriptionUpdated, subscriptionDeleted, invoicePaid, invoiceFailed,
		chargeRefunded, disputeCreated, disputeClosed, customerUpdated, couponDeleted,
	}
}

// checkCoupon begins the id of the coupon by which a connection is tested: its deletion
// is an event.
const checkCoupon = prefix + "-check-"

// parse returns which object an event names. The rest of the payload is ignored: it is as
// old as the event.
func parse(payload string) gateway.Notification {
	e, err := ParseEvent([]byte(payload))
	if err != nil {
		return gateway.Notification{Problem: err.Error()}
	}
	n, o := gateway.Notification{Kind: e.Type, Known: true}, e.Data.Object
	switch e.Type {
	case sessionCompleted, sessionPaid:
		n.Subscription, n.Payment = string(o.Subscription), string(o.PaymentIntent)
	case subscriptionCreated, subscriptionUpdated, subscriptionDeleted:
		n.Subscription = o.ID
	case invoicePaid:
		if n.Subscription = string(o.Parent.SubscriptionDetails.Subscription); n.Subscription == "" {
			n.Payment = o.ID
		}
	case invoiceFailed:
		n.Subscription = string(o.Parent.SubscriptionDetails.Subscription)
	case chargeRefunded, disputeCreated, disputeClosed:
		n.Payment = string(o.PaymentIntent)
	case customerUpdated:
		n.Customer = o.ID
	case couponDeleted:
		if strings.HasPrefix(o.ID, checkCoupon) {
			n.Kind = billing.CheckKind
		}
	default:
		n.Known = false
	}
	return n
}
