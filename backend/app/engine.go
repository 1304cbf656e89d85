// Package app holds the use cases: what one call to the service does, from
// a parsed request to a stored result. It asks core to decide and store to
// remember, and knows neither HTTP nor SQL.
package app

import (
	"context"
	"time"

	"kith/backend/file"
	"kith/backend/store"
	"kith/core"
	"kith/core/auth"
	"kith/core/billing"
)

// Engine runs the use cases. All exported fields must be set; it is safe for concurrent
// use.
type Engine struct {
	DB   *store.Primary
	Keys auth.Keyring
	// TempDomains are domains of disposable mail addresses besides those that
	// core/referral knows, in lower case; nil is none.
	TempDomains map[string]bool
	// PublicURL is the origin at which visitors reach the service, where links begin
	// that no tenant's share origin says otherwise of; empty: see Caller.Share.
	PublicURL string
	// Now is the clock.
	Now func() core.Time
	// Entropy fills its argument with random bytes that cannot be guessed.
	Entropy func([]byte)
	// Wake is called after event calls were taken in, for the worker that
	// processes them. It must not block.
	Wake func()
	// Files keeps the files of jobs. A program that runs no job needs none.
	Files file.Store
	// WakeJobs is called after a job was made, for the workers that do jobs. It
	// must not block.
	WakeJobs func()
	// JobLease is how long a worker holds a job without a sign of life before
	// others take it for dead; zero means DefaultJobLease.
	JobLease core.Time
	// CallTime is how long a call works on a small job that it creates before it
	// leaves the job to the workers; zero means DefaultCallTime.
	CallTime time.Duration
	// MaxFile bounds an upload, packed and unpacked, in bytes; zero means
	// DefaultMaxFile.
	MaxFile int64

	// WakeGateway is called after a gateway's notification was stored, for the
	// worker that reads it; nil: it is read at the next tick. It must not block.
	WakeGateway func()
	// TryGateway asks a gateway whether it takes a connection's keys and whether
	// the merchant has a discount. A program that tests no connection needs none.
	TryGateway func(ctx context.Context, tenant core.TenantAlias, c billing.Connection, discountID string) (keys, discount bool, err error)
	// FindCustomer asks a gateway whether it has a customer. A program that
	// registers no discount of a connected tenant needs none.
	FindCustomer func(ctx context.Context, tenant core.TenantAlias, c billing.Connection, customer core.PaymentProviderID) (known bool, err error)

	// Did is told what was done of the work that is left to workers, for the
	// metrics; see Worked. It must not block. Nil: nobody asks.
	Did func(work, kind, outcome string, n int64)

	counts tally
	uses   keyUses
	lately latelyRead
}

// Worked tells Did that n more things were done: of which work (WorkRows and its
// like), of which kind, and how it went. All are few words, since they become
// labels.
func (e *Engine) Worked(work, kind, outcome string, n int64) {
	if e.Did != nil && n > 0 {
		e.Did(work, kind, outcome, n)
	}
}

// Work and outcomes that are counted.
const (
	// WorkRows is rows of jobs, by the job's type: OutcomeDone, or OutcomeFailed
	// for those in its errors file.
	WorkRows = "job_rows"
	// WorkDelivery is attempts to deliver an event to an endpoint, of the kind
	// "attempt": OutcomeDone, OutcomeFailed, or OutcomeLate for one whose lease
	// had ended, so that its result was dropped.
	WorkDelivery = "webhook"

	// WorkGateway is what was done at payment gateways, by kind: GatewayKinds.
	// OutcomeFailed is tried again later.
	WorkGateway = "gateway"
	// WorkNotification is notifications that were read, by the gateway's kind, of
	// which an unknown one is "other": OutcomeFailed for one that cannot be read.
	WorkNotification = "gateway_notification"

	OutcomeDone   = "done"
	OutcomeFailed = "failed"
	OutcomeLate   = "late"
)

// Kinds of WorkGateway.
const (
	// GatewayRead is a subscription that was read and brought in line.
	GatewayRead = "subscription"
	// GatewayRefund is money that was given back, or cannot be.
	GatewayRefund = "refund"
	// GatewayCoupon is a code that was written into a custom field.
	GatewayCoupon = "coupon"
	// GatewaySweep is a search for subscriptions that nobody told of, and
	// GatewayFound is those that it found.
	GatewaySweep = "sweep"
	GatewayFound = "found"
)

// GatewayKinds are all kinds of WorkGateway.
func GatewayKinds() []string {
	return []string{GatewayRead, GatewayRefund, GatewayCoupon, GatewaySweep, GatewayFound}
}

// NewID returns an id that nothing has.
func (e *Engine) NewID() string { return e.newID(e.Now()) }

func (e *Engine) newID(now core.Time) string { return core.NewID(now, e.entropy6()) }

func (e *Engine) entropy6() (b [6]byte) {
	e.Entropy(b[:])
	return b
}

// Page is a part of a list.
type Page struct{ Limit, Offset int }
