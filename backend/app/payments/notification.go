package payments

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/billingdb"
	"kith/core"
	"kith/core/billing"
)

// Notifications are what gateways have sent.
type Notifications struct {
	*base.Base
	Gateways *Gateways
}

// Add stores what a tenant's gateway has sent, once; it must be verified.
// What it means is for a worker to find out.
func (ns *Notifications) Add(ctx context.Context, tenant core.TenantAlias, payload string) error {
	sum := sha256.Sum256([]byte(payload))
	added := false
	err := ns.DB.Write(ctx, ns.Now(), func(tx *store.Tx) (err error) {
		added, err = billingdb.InsertNotification(ctx, tx, tenant, hex.EncodeToString(sum[:]), payload)
		return err
	})
	if err == nil && added {
		ns.Gateways.wake()
	}
	return err
}

// Read lets parse read what gateways have sent, and has the
// subscriptions that it is about read back. It returns how many it took.
func (ns *Notifications) Read(ctx context.Context, most int, parse func(payload string) ParsedNotification) (int, error) {
	waiting, err := billingdb.Notifications(ctx, ns.DB.Reads, most)
	if err != nil || len(waiting) == 0 {
		return 0, err
	}
	var taken []ParsedNotification
	err = ns.DB.Write(ctx, ns.Now(), func(tx *store.Tx) error {
		taken = nil
		for _, n := range waiting {
			news := parse(n.Payload)
			mine, err := billingdb.MarkNotificationRead(ctx, tx, n.Tenant, n.Seq, news.Kind, news.Problem)
			if err == nil && mine {
				taken = append(taken, news)
				err = applyNotification(ctx, tx, n.Tenant, news)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		for _, news := range taken {
			ns.ReportWork(base.WorkNotification, news.label(), outcomeOf(news.Problem), 1)
		}
	}
	return len(waiting), err
}

// label is the kind as a metric has it: the gateway's words are not ours to
// bound.
func (n ParsedNotification) label() string {
	if !n.Known {
		return "other"
	}
	return n.Kind
}

// ParsedNotification is what a notification is about.
type ParsedNotification struct {
	// Kind is the gateway's word for it, and Problem says why it cannot be read,
	// or is empty.
	Kind, Problem string
	// Known is true for a kind that the service acts on.
	Known bool
	// Subscription is what to read; empty when it names none.
	Subscription string
	// Transaction is a charge whose subscription is to be read, which it does not
	// name.
	Transaction string
}

// applyNotification has the subscription read that a notification is about. A charge that
// was not seen has no effect that could change: it is read with its subscription.
func applyNotification(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, n ParsedNotification) error {
	if n.Kind == billing.CheckKind {
		return billingdb.RecordCheck(ctx, tx, tenant)
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

// PayloadLife is how long the payload of a notification is kept once it was
// read, for whoever looks for a fault. Its hash stays, so that it cannot be sent
// again.
const PayloadLife = 30 * core.Day

// payloadBatch bounds one transaction.
const payloadBatch = 500

// ForgetPayloads empties notifications that are old. It takes a batch, and
// returns how many it held.
func (ns *Notifications) ForgetPayloads(ctx context.Context) (n int, err error) {
	old, err := billingdb.HasOldPayloads(ctx, ns.DB.Reads, ns.Now()-PayloadLife)
	if err != nil || !old {
		return 0, err
	}
	err = ns.DB.Write(ctx, ns.Now(), func(tx *store.Tx) (err error) {
		n, err = billingdb.ClearPayloads(ctx, tx, tx.Now-PayloadLife, payloadBatch)
		return err
	})
	return n, err
}
