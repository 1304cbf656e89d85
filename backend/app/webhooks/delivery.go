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

// Deliveries manages the deliveries of events to endpoints. A delivery is one event for
// one endpoint; it takes one or more attempts.
type Deliveries struct{ *base.Base }

// Sending is an attempt that has begun, with all that a worker needs to make it.
type Sending struct {
	webhook.DeliveryKey
	// Number is the number of the attempt, from 1. Tries is the number of attempts,
	// with this one, since the delivery began or was replayed.
	Number, Tries int
	// Failing is true if the last attempt at the endpoint failed.
	Failing bool
	// Body is the exact body of the request.
	Body []byte
	// Secrets are the secrets that sign the body, the newest first.
	Secrets []string
	// APIKey is the tenant's primary API key, which signs the body too; see
	// auth.APIKeys.Primary. It is empty if the tenant has none.
	APIKey string
	// Allowed are the prefixes of the private addresses to which the event may be
	// sent. It is empty for a live tenant.
	Allowed []string
	// Fault says why the attempt cannot be made, or is empty.
	Fault string
}

// Sent is an attempt that was made, with its result.
type Sent struct {
	Sending
	Attempt webhook.Attempt
}

// Due reports whether an attempt may begin now.
func (d *Deliveries) Due(ctx context.Context) (bool, error) {
	return webhookdb.AnyDue(ctx, d.DB.Reads, d.Now())
}

// Begin leases attempts that are due, as many as fit into the slots that are not busy, and
// returns those of each slot, which are of one endpoint and are made one after the other. If this
// process stops, another one leases the same attempts; see package leases.
func (d *Deliveries) Begin(ctx context.Context, slots webhook.Slots, busy webhook.Busy) ([][]Sending, error) {
	var queues []webhook.Due
	due := func() (_ bool, err error) {
		// Read twice as many queues as there are slots: the first ones may all be busy.
		queues, err = webhookdb.DueQueues(ctx, d.DB.Reads, d.Now(), 2*slots.All)
		return len(queues) > 0, err
	}
	return base.Take(ctx, d.Base, due, func(tx *store.Tx, token string) (begun [][]Sending, err error) {
		allowed := allowed{}
		for i, n := range slots.Share(queues, busy) {
			if n == 0 {
				continue
			}
			leased, err := webhookdb.LeaseDeliveries(ctx, tx, queues[i].Queue, slots.MostFor(queues[i], n, busy), token)
			if err != nil {
				return begun, err
			}
			prefixes, err := allowed.of(ctx, tx.Reads, queues[i].Tenant)
			if err != nil {
				return begun, err
			}
			taken := make([][]Sending, min(n, len(leased)))
			for j, l := range leased {
				s := d.sending(l, queues[i].Failing, tx.Now)
				s.Allowed = prefixes
				taken[j%n] = append(taken[j%n], s)
			}
			begun = append(begun, taken...)
		}
		return begun, nil
	})
}

// sending returns a leased attempt with its secrets decrypted.
func (d *Deliveries) sending(l webhookdb.Leased, failing bool, now core.Time) Sending {
	s := Sending{
		DeliveryKey: l.DeliveryKey, Number: l.Number, Tries: l.Tries, Failing: failing, Body: payload(l.DeliveryKey, l.Content),
	}
	sealed := []string{l.Secret}
	if l.OldUntil > now {
		sealed = append(sealed, l.Old)
	}
	var err error
	for _, text := range sealed {
		secret, openErr := d.Keys.Open(base.EndpointPlace(webhook.Queue{Tenant: l.Tenant, Endpoint: l.Endpoint}), text)
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

// allowed has the prefixes of test tenants that were read.
type allowed map[core.TenantAlias][]string

// of returns Sending.Allowed for a tenant.
func (known allowed) of(ctx context.Context, r store.Reads, tenant core.TenantAlias) (prefixes []string, err error) {
	prefixes, ok := known[tenant]
	if ok || base.Live(tenant) {
		return prefixes, nil
	}
	if prefixes, err = webhookdb.Addresses(ctx, r, tenant); err == nil {
		known[tenant] = prefixes
	}
	return prefixes, err
}

// End records the results of attempts, and those that were begun and not made, which are due
// again. late is the number of results that were dropped because another process had leased the
// attempt meanwhile. The result of an attempt whose subscription was deleted meanwhile is dropped
// too, and is not late.
func (d *Deliveries) End(ctx context.Context, made []Sent, unmade ...Sending) (late int, err error) {
	jitter := make([]byte, len(made))
	d.Entropy(jitter)
	ended := make([]webhookdb.Ended, len(made))
	for i, s := range made {
		ended[i] = webhookdb.Ended{DeliveryKey: s.DeliveryKey, Attempt: s.Attempt, Next: webhook.After(s.Tries, s.Attempt, jitter[i])}
	}
	recorded, err := store.WriteValue(ctx, d.DB.Write, d.Now(), func(tx *store.Tx) ([]webhookdb.Recorded, error) {
		// First, so that they fail with the others if an endpoint is gone.
		if err := webhookdb.PutBack(ctx, tx, begunOf(unmade)); err != nil {
			return nil, err
		}
		return webhookdb.EndAttempts(ctx, tx, ended)
	})
	if err != nil {
		return 0, fmt.Errorf("app: end deliveries: %w", err)
	}
	delivered, failed := 0, 0
	for i, r := range recorded {
		switch {
		case r == webhookdb.Late:
			late++
		case r == webhookdb.Counted && ended[i].State == webhook.Delivered:
			delivered++
		case r == webhookdb.Counted:
			failed++
		}
	}
	d.ReportWork(base.WorkDelivery, "attempt", base.OutcomeLate, int64(late))
	d.ReportWork(base.WorkDelivery, "attempt", base.OutcomeDone, int64(delivered))
	d.ReportWork(base.WorkDelivery, "attempt", base.OutcomeFailed, int64(failed))
	return late, nil
}

func begunOf(all []Sending) []webhookdb.Begun {
	begun := make([]webhookdb.Begun, len(all))
	for i, s := range all {
		begun[i] = webhookdb.Begun{DeliveryKey: s.DeliveryKey, Number: s.Number}
	}
	return begun
}

// Forget removes the deliveries that ended longer than webhook.Kept ago, and returns the
// number of removed rows.
func (d *Deliveries) Forget(ctx context.Context) (int, error) {
	return d.Base.Forget(ctx, func(tx *store.Tx) (int, error) {
		return webhookdb.DeleteOld(ctx, tx, tx.Now-webhook.Kept, base.ForgetBatch)
	})
}

// MaxAllowed is the number of prefixes that a test tenant may have at most.
const MaxAllowed = 100

// AllowAddresses allows events of a test tenant to be sent to private addresses, or
// forbids it again if remove is true. For a live tenant it is a forbidden error: a client
// with the tenant's API key could otherwise reach the internal network of the service. A
// tenant has at most MaxAllowed prefixes.
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

// AllowedAddresses returns the prefixes that AllowAddresses allowed.
func (d *Deliveries) AllowedAddresses(ctx context.Context, tenant core.TenantAlias) ([]string, error) {
	return webhookdb.Addresses(ctx, d.DB.Reads, tenant)
}

// Barred returns those endpoints whose deliveries fail until AllowAddresses allows their
// addresses, which are not public.
func (d *Deliveries) Barred(ctx context.Context, tenant core.TenantAlias, all []webhook.Subscription) (map[webhook.Endpoint]bool, error) {
	barred := func(allowed []string) map[webhook.Endpoint]bool {
		found := map[webhook.Endpoint]bool{}
		for _, s := range all {
			if s.Endpoint.Barred(allowed) {
				found[s.Endpoint] = true
			}
		}
		return found
	}
	if len(barred(nil)) == 0 {
		return nil, nil
	}
	allowed, err := d.AllowedAddresses(ctx, tenant)
	return barred(allowed), err
}

// List returns a page of the deliveries to an endpoint, the newest first, and their total
// number: those that wait, and those that ended within the last webhook.Kept. If state
// is not empty, only deliveries in that state count. An unknown endpoint is a not-found
// error.
func (d *Deliveries) List(ctx context.Context, queue webhook.Queue, state webhook.State, p base.Page) ([]webhook.Delivery, int, error) {
	_, known, err := webhookdb.Subscription(ctx, d.DB.Reads, queue)
	if err := mustBeKnown(known, err); err != nil {
		return nil, 0, err
	}
	return webhookdb.Deliveries(ctx, d.DB.Lists, queue, state, p.Limit, p.Offset)
}

// Page returns the deliveries to an endpoint that a filter selects, the newest event
// first, at most webhook.MaxDeliveryPage, and the Before of the next page; empty on the
// last one. An unknown endpoint is a not-found error.
func (d *Deliveries) Page(ctx context.Context, queue webhook.Queue, f webhook.DeliveryFilter) (page []webhook.Delivery, next string, err error) {
	_, known, err := webhookdb.Subscription(ctx, d.DB.Reads, queue)
	if err := mustBeKnown(known, err); err != nil {
		return nil, "", err
	}
	page, err = webhookdb.DeliveryPage(ctx, d.DB.Reads, queue, f, webhook.MaxDeliveryPage+1)
	if len(page) > webhook.MaxDeliveryPage {
		page = page[:webhook.MaxDeliveryPage]
		next = page[len(page)-1].Event
	}
	return page, next, err
}

// Find returns a delivery with its attempts, or a not-found error.
func (d *Deliveries) Find(ctx context.Context, key webhook.DeliveryKey) (webhook.Delivery, error) {
	found, known, err := webhookdb.Delivery(ctx, d.DB.Reads, key)
	if err == nil && !known {
		err = notSent()
	}
	return found, err
}

// Payload returns the body of the requests of a delivery. erased is true if what it said of
// a user was deleted with the user; if that is all, body is nil.
func (d *Deliveries) Payload(ctx context.Context, key webhook.DeliveryKey) (body []byte, erased bool, err error) {
	e, ok, err := webhookdb.FindEvent(ctx, d.DB.Reads, key.Tenant, key.Event)
	if err != nil || !ok || e.Blank() {
		return nil, e.Erased, err
	}
	return payload(key, e), e.Erased, nil
}

// payload returns the body of the requests of a delivery.
func payload(key webhook.DeliveryKey, e webhookdb.Event) []byte {
	return wire.Webhook(wire.WebhookEvent{
		Tenant: key.Tenant, Live: base.Live(key.Tenant), ID: key.Event, Type: e.Type, Created: e.Created, Sequence: e.Sequence, Data: e.Data,
	})
}

func notSent() error {
	return core.NotFound("this event was not sent to this endpoint within the last 30 days")
}

// CountFailed returns the number of failed deliveries to each endpoint of a tenant, at
// most webhook.MaxFailedShown of each.
func (d *Deliveries) CountFailed(ctx context.Context, tenant core.TenantAlias) (map[webhook.Endpoint]int, error) {
	return webhookdb.CountFailedByEndpoint(ctx, d.DB.Reads, tenant, webhook.MaxFailedShown)
}

// Replay queues an event for an endpoint again, whether it was delivered or not. It does
// nothing while an attempt is running. An unknown delivery is a not-found error, and so is
// one whose event has no data left because the user in it was erased.
func (d *Deliveries) Replay(ctx context.Context, p webhook.DeliveryKey) error {
	return d.DB.Write(ctx, d.Now(), func(tx *store.Tx) error {
		known, err := webhookdb.DeliveryExists(ctx, tx.Reads, p)
		if err != nil {
			return err
		}
		if !known {
			return notSent()
		}
		e, _, err := webhookdb.FindEvent(ctx, tx.Reads, p.Tenant, p.Event)
		if err != nil {
			return err
		}
		if e.Blank() {
			return core.NotFound("the data of this event was deleted with its user; it cannot be sent again")
		}
		_, err = webhookdb.Replay(ctx, tx, p)
		return err
	})
}

// ReplayFailed queues the events again whose last attempt at an endpoint failed and that
// were created at the time since or later. It returns their number. An unknown endpoint
// is a not-found error.
func (d *Deliveries) ReplayFailed(ctx context.Context, queue webhook.Queue, since core.Time) (n int, err error) {
	return store.WriteValue(ctx, d.DB.Write, d.Now(), func(tx *store.Tx) (n int, err error) {
		_, known, err := webhookdb.Subscription(ctx, tx.Reads, queue)
		if err := mustBeKnown(known, err); err != nil {
			return n, err
		}
		return webhookdb.ReplayFailed(ctx, tx, queue, since)
	})
}
