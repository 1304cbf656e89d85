package webhooks

import (
	"context"
	"fmt"
	"net/netip"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/webhookdb"
	"kith/core"
	"kith/core/webhook"
	"kith/core/wire"
)

// Deliveries are events on their way to endpoints.
type Deliveries struct{ *base.Base }

// Sending is an attempt that has begun: all that is needed to make it.
type Sending struct {
	webhook.Place
	// Number is the attempt's, Tries how many there were since the delivery
	// began or was replayed.
	Number, Tries int
	// Failing is true when the endpoint's last attempt had failed.
	Failing bool
	// Body is what is sent, byte by byte.
	Body []byte
	// Secrets sign it, the newest first; APIKey is the tenant's
	// (see auth.APIKeys.Primary), empty when it has none.
	Secrets []string
	APIKey  string
	// Allowed are the prefixes of addresses that it may be sent to though they
	// are not public; only a test tenant has any.
	Allowed []string
	// Fault says why the attempt cannot be made, or is empty.
	Fault string
}

// Sent is an attempt that was made.
type Sent struct {
	Sending
	Attempt webhook.Attempt
}

// Due reports whether an attempt may begin now.
func (d *Deliveries) Due(ctx context.Context) (bool, error) {
	return webhookdb.AnyDue(ctx, d.DB.Reads, d.Now())
}

// Begin begins attempts that are due, as many as there are slots for.
// They belong to the caller for webhook.Lease, which begins when the write lock is
// held: a lease from before the wait for it could be over at once. After that,
// another process may take them.
func (d *Deliveries) Begin(ctx context.Context, slots webhook.Slots, busy webhook.Busy) ([]Sending, error) {
	now := d.Now()
	// Twice as many as there are slots: the first may all be busy.
	lines, err := webhookdb.DueQueues(ctx, d.DB.Reads, now, 2*slots.All)
	if err != nil || len(lines) == 0 {
		return nil, err
	}
	var begun []Sending
	err = d.DB.Write(ctx, now, func(tx *store.Tx) error {
		for i, n := range slots.Share(lines, busy) {
			if n == 0 {
				continue
			}
			leased, err := webhookdb.LeaseDeliveries(ctx, tx, lines[i].Line, n, d.Now()+webhook.Lease)
			if err != nil {
				return err
			}
			for _, l := range leased {
				begun = append(begun, d.sending(l, lines[i].Failing, now))
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return begun, d.allow(ctx, begun)
}

// sending is a leased attempt with its secrets opened.
func (d *Deliveries) sending(l webhookdb.Leased, failing bool, now core.Time) Sending {
	s := Sending{
		Place: l.Place, Number: l.Number, Tries: l.Tries, Failing: failing,
		Body: wire.Webhook(wire.WebhookEvent{
			Tenant: l.Tenant, Live: base.Live(l.Tenant), ID: l.Event, Type: l.Type, Created: l.Created, Data: l.Data,
		}),
	}
	sealed := []string{l.Secret}
	if l.OldUntil > now {
		sealed = append(sealed, l.Old)
	}
	var err error
	for _, text := range sealed {
		secret, openErr := d.Keys.Open(base.EndpointPlace(webhook.Line{Tenant: l.Tenant, Endpoint: l.Endpoint}), text)
		if openErr != nil {
			err = openErr
		}
		s.Secrets = append(s.Secrets, secret)
	}
	if err == nil {
		if key, ok := l.Keys.Primary(now); ok {
			s.APIKey, err = d.OpenKey(l.Tenant, key)
		}
	}
	if err != nil {
		s.Fault = "the secrets of this endpoint cannot be opened"
	}
	return s
}

// allow adds the addresses that test tenants allow.
func (d *Deliveries) allow(ctx context.Context, begun []Sending) error {
	known := map[core.TenantAlias][]string{}
	for i := range begun {
		s := &begun[i]
		if base.Live(s.Tenant) {
			continue
		}
		prefixes, ok := known[s.Tenant]
		if !ok {
			var err error
			if prefixes, err = webhookdb.Addresses(ctx, d.DB.Reads, s.Tenant); err != nil {
				return err
			}
			known[s.Tenant] = prefixes
		}
		s.Allowed = prefixes
	}
	return nil
}

// End records attempts that were made, and returns how many came too
// late: another attempt had begun since, whose result counts. An attempt whose
// subscription was deleted meanwhile is forgotten.
func (d *Deliveries) End(ctx context.Context, made []Sent) (late int, err error) {
	luck := make([]byte, len(made))
	d.Entropy(luck)
	var well, gone int
	err = d.DB.Write(ctx, d.Now(), func(tx *store.Tx) error {
		late, well, gone = 0, 0, 0
		for i, s := range made {
			next := webhook.After(s.Tries, s.Attempt, luck[i])
			recorded, err := webhookdb.EndAttempt(ctx, tx, s.Place, s.Attempt, next)
			if err != nil {
				return fmt.Errorf("program: end delivery of event %s: %w", s.Event, err)
			}
			switch {
			case recorded == webhookdb.Late:
				late++
			case recorded == webhookdb.Gone:
				gone++
			case recorded == webhookdb.Counted && next.State == webhook.Delivered:
				well++
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	d.ReportWork(base.WorkDelivery, "attempt", base.OutcomeLate, int64(late))
	d.ReportWork(base.WorkDelivery, "attempt", base.OutcomeDone, int64(well))
	d.ReportWork(base.WorkDelivery, "attempt", base.OutcomeFailed, int64(len(made)-late-gone-well))
	return late, nil
}

// Forget removes what ended longer than webhook.Kept ago, and returns
// how many rows that were.
func (d *Deliveries) Forget(ctx context.Context) (int, error) {
	return d.Base.Forget(ctx, func(tx *store.Tx) (int, error) {
		return webhookdb.DeleteOld(ctx, tx, tx.Now-webhook.Kept, base.ForgetBatch)
	})
}

// MaxAllowed is the most prefixes that a test tenant may allow.
const MaxAllowed = 100

// AllowAddresses lets the events of a test tenant be sent to addresses that are
// not public, or takes that back when remove is true. For a live tenant it is
// forbidden: whoever holds its key would reach into the network of the service.
func (d *Deliveries) AllowAddresses(ctx context.Context, tenant core.TenantAlias, prefixes []netip.Prefix, remove bool) error {
	if base.Live(tenant) && len(prefixes) > 0 {
		return &core.Error{Code: core.CodeForbidden, Field: "tenant", Message: "only a test tenant's events may be sent to addresses that are not public"}
	}
	return d.DB.Write(ctx, d.Now(), func(tx *store.Tx) error {
		for _, p := range prefixes {
			var err error
			if text := p.Masked().String(); remove {
				_, err = webhookdb.ForbidAddress(ctx, tx, tenant, text)
			} else {
				err = webhookdb.AllowAddress(ctx, tx, tenant, text)
			}
			if err != nil {
				return err
			}
		}
		all, err := webhookdb.Addresses(ctx, tx.Reads, tenant)
		if err == nil && len(all) > MaxAllowed {
			err = core.Invalid("address", "a tenant may have at most 100 prefixes; use wider ones")
		}
		return err
	})
}

// AllowedAddresses are the prefixes that AllowAddresses let in.
func (d *Deliveries) AllowedAddresses(ctx context.Context, tenant core.TenantAlias) ([]string, error) {
	return webhookdb.Addresses(ctx, d.DB.Reads, tenant)
}

// List returns a page of what was sent to an endpoint within the last
// webhook.Kept or waits for it, the newest first, and how many there are in
// all. A state that is not empty narrows them; an unknown endpoint is a
// not-found error.
func (d *Deliveries) List(ctx context.Context, line webhook.Line, state webhook.State, p base.Page) ([]webhook.Delivery, int, error) {
	_, known, err := webhookdb.Subscription(ctx, d.DB.Reads, line)
	if err := mustBeKnown(known, err); err != nil {
		return nil, 0, err
	}
	return webhookdb.Deliveries(ctx, d.DB.Reads, line, state, p.Limit, p.Offset)
}

// Replay sends an event to an endpoint again, whether it had arrived or not;
// one that is being sent is left alone. An unknown one is a not-found error.
func (d *Deliveries) Replay(ctx context.Context, p webhook.Place) error {
	return d.DB.Write(ctx, d.Now(), func(tx *store.Tx) error {
		known, err := webhookdb.DeliveryExists(ctx, tx.Reads, p)
		if err != nil {
			return err
		}
		if !known {
			return core.NotFound("this event was not sent to this endpoint within the last 30 days")
		}
		_, err = webhookdb.Replay(ctx, tx, p)
		return err
	})
}

// ReplayFailed sends the events to an endpoint again whose delivery failed and
// that happened at a time or later. It returns how many they are; an unknown
// endpoint is a not-found error.
func (d *Deliveries) ReplayFailed(ctx context.Context, line webhook.Line, since core.Time) (n int, err error) {
	err = d.DB.Write(ctx, d.Now(), func(tx *store.Tx) error {
		_, known, err := webhookdb.Subscription(ctx, tx.Reads, line)
		if err := mustBeKnown(known, err); err != nil {
			return err
		}
		n, err = webhookdb.ReplayFailed(ctx, tx, line, since)
		return err
	})
	return n, err
}
