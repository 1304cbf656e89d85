// Package app holds the use cases: what one call to the service does, from
// a parsed request to a stored result. It asks core to decide and store to
// remember, and knows neither HTTP nor SQL.
package app

import (
	"context"
	"time"

	"kith/backend/app/base"
	"kith/backend/app/rewards"
	"kith/backend/app/webhooks"
	"kith/backend/file"
	"kith/core"
	"kith/core/billing"
)

// Engine runs the use cases. Make one by New; it is safe for concurrent use.
type Engine struct {
	*base.Base
	Webhooks    webhooks.Subscriptions
	Deliveries  webhooks.Deliveries
	SigningKeys webhooks.SigningKeys
	Rewards     rewards.Rewards
	Redemptions rewards.Redemptions
	FuelTanks   rewards.FuelTanks
	Moderation  rewards.Moderation

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

	counts tally
	uses   keyUses
	lately latelyRead
}

// New returns an engine whose calls wake nobody.
func New(shared base.Base) *Engine {
	b := &shared
	return &Engine{
		Base: b, Wake: func() {}, WakeJobs: func() {},
		Webhooks: webhooks.Subscriptions{Base: b}, Deliveries: webhooks.Deliveries{Base: b}, SigningKeys: webhooks.SigningKeys{Base: b},
		Rewards: rewards.Rewards{Base: b}, Redemptions: rewards.Redemptions{Base: b}, FuelTanks: rewards.FuelTanks{Base: b}, Moderation: rewards.Moderation{Base: b},
	}
}
