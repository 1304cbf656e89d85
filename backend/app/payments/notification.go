package payments

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"math"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/billingdb"
	"kith/core"
	"kith/core/billing"
)

// Notifications stores and applies the notifications of payment gateways.
type Notifications struct {
	*base.Base
	Gateways *Gateways
}

// Add stores a notification of a tenant's gateway; a second one with the same identity is
// ignored: its id at the gateway, or if it has none, the payload. The caller must have
// verified it. A worker parses and applies it later; see Read. At Stripe each one, also a
// second, shows that the webhook works; a search finds others, which do not.
func (ns *Notifications) Add(ctx context.Context, tenant core.TenantAlias, kind billing.Kind, identity, payload string) error {
	added, err := store.WriteValue(ctx, ns.DB.Write, ns.Now(), func(tx *store.Tx) (bool, error) {
		if kind == billing.Stripe {
			if err := billingdb.RecordDelivery(ctx, tx, tenant); err != nil {
				return false, err
			}
		}
		return addNotification(ctx, tx, tenant, kind, SentNotification{Identity: identity, Payload: payload})
	})
	if err == nil && added {
		ns.Gateways.Wake()
	}
	return err
}

// addNotification stores a notification unless it is known, and reports whether it was
// not.
func addNotification(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, kind billing.Kind, n SentNotification) (bool, error) {
	sum := sha256.Sum256([]byte(n.Identity))
	return billingdb.InsertNotification(ctx, tx, tenant, kind, hex.EncodeToString(sum[:]), n.Payload)
}

// Read parses up to limit stored notifications, and marks the subscriptions that they
// name, so that a worker reads them at the gateway. It returns the number of
// notifications that it found; 0 means that none waits.
func (ns *Notifications) Read(ctx context.Context, limit int, parse func(kind billing.Kind, payload string) ParsedNotification) (int, error) {
	waiting, err := billingdb.Notifications(ctx, ns.DB.Reads, limit)
	if err != nil || len(waiting) == 0 {
		return 0, err
	}
	applied, err := store.WriteValue(ctx, ns.DB.Write, ns.Now(), func(tx *store.Tx) (applied []ParsedNotification, err error) {
		for _, n := range waiting {
			parsed := parse(n.Gateway, n.Payload)
			first, err := billingdb.MarkNotificationRead(ctx, tx, n.Tenant, n.Seq, parsed.Kind, parsed.Problem)
			if err == nil && first {
				applied = append(applied, parsed)
				err = applyNotification(ctx, tx, n.Tenant, n.Gateway, parsed)
			}
			if err != nil {
				return applied, err
			}
		}
		return applied, nil
	})
	if err == nil {
		for _, n := range applied {
			ns.ReportWork(base.WorkNotification, n.label(), outcomeOf(n.Problem), 1)
		}
	}
	return len(waiting), err
}

// label returns the kind as a metric label. Unknown kinds share one label, since a
// gateway could send any number of them.
func (n ParsedNotification) label() string {
	if !n.Known {
		return "other"
	}
	return n.Kind
}

// ParsedNotification is the content of a notification that the service uses.
type ParsedNotification struct {
	// Kind is the gateway's name of the kind. Problem says why the notification
	// cannot be parsed, or is empty.
	Kind, Problem string
	// Known is true for a kind that the service uses.
	Known bool
	// Subscription is the id of the subscription to read, or empty if the
	// notification names none.
	Subscription string
	// Transaction is the id of a charge whose subscription is to be read, if the
	// notification does not name the subscription itself.
	Transaction string
	// Payment is the id of a payment to read, and Customer that of a customer whose
	// subscriptions are to be read; either may be empty.
	Payment  string
	Customer core.PaymentProviderID
}

// applyNotification marks the subscription or the payment of a notification to be read at
// the gateway.
// It ignores a charge that is not stored yet: such a charge is read with its
// subscription.
func applyNotification(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, gateway billing.Kind, n ParsedNotification) error {
	if n.Kind == billing.CheckKind && gateway == billing.Braintree {
		return billingdb.RecordCheck(ctx, tx, tenant)
	}
	if n.Payment != "" {
		if err := billingdb.TouchPayment(ctx, tx, tenant, n.Payment); err != nil {
			return err
		}
	}
	if n.Customer != "" {
		return billingdb.TouchCustomer(ctx, tx, tenant, n.Customer)
	}
	if n.Subscription == "" && n.Transaction != "" {
		var err error
		if n.Subscription, err = billingdb.SubscriptionOfBill(ctx, tx.Reads, tenant, n.Transaction); err != nil {
			return err
		}
	}
	if n.Subscription == "" {
		return nil
	}
	return billingdb.TouchSubscription(ctx, tx, tenant, n.Subscription)
}

// MaxNotificationPage is the most notifications of a page of List.
const MaxNotificationPage = 50

// NotificationFilter selects notifications of a tenant. The zero value selects all.
type NotificationFilter struct {
	// Problem selects those that could not be read.
	Problem bool
	// Before is the number of the last notification of the page before; zero: the first
	// page.
	Before int64
}

// List returns the notifications of a tenant that a filter selects, the newest first, and
// the Before of the next page; zero on the last one.
func (ns *Notifications) List(ctx context.Context, tenant core.TenantAlias, f NotificationFilter) (page []billing.Received, next int64, err error) {
	if f.Before == 0 {
		f.Before = math.MaxInt64
	}
	page, err = billingdb.NotificationLog(ctx, ns.DB.Reads, tenant, f.Problem, f.Before, MaxNotificationPage+1)
	if len(page) > MaxNotificationPage {
		page = page[:MaxNotificationPage]
		next = page[len(page)-1].Seq
	}
	return page, next, err
}

// Replay makes a worker process a notification again. It is a conflict once the payload
// was deleted; see PayloadLife. An unknown notification is a not-found error.
func (ns *Notifications) Replay(ctx context.Context, tenant core.TenantAlias, seq int64) error {
	err := ns.DB.Write(ctx, ns.Now(), func(tx *store.Tx) error {
		n, known, err := billingdb.FindReceived(ctx, tx.Reads, tenant, seq)
		switch {
		case err != nil:
			return err
		case !known:
			return core.NotFound("there is no such notification of this tenant's gateway")
		case !n.Kept:
			return &core.Error{Code: core.CodeConflict, Field: "id", Message: "was processed more than 30 days ago, and its content is deleted; have the gateway send it again"}
		}
		return billingdb.ReplayNotification(ctx, tx, tenant, seq)
	})
	if err == nil {
		ns.Gateways.Wake()
	}
	return err
}

// PayloadLife is how long the payload of a parsed notification is kept, for debugging.
// Its hash stays, so that a repeated notification is recognized.
const PayloadLife = 30 * core.Day

// payloadBatch is the number of payloads that one transaction deletes at most.
const payloadBatch = 500

// ForgetPayloads deletes one batch of payloads that are older than PayloadLife, and
// returns the number of payloads in it; 0 means that none is left.
func (ns *Notifications) ForgetPayloads(ctx context.Context) (n int, err error) {
	old, err := billingdb.HasOldPayloads(ctx, ns.DB.Reads, ns.Now()-PayloadLife)
	if err != nil || !old {
		return 0, err
	}
	return store.WriteValue(ctx, ns.DB.Write, ns.Now(), func(tx *store.Tx) (int, error) {
		return billingdb.ClearPayloads(ctx, tx, tx.Now-PayloadLife, payloadBatch)
	})
}
