package payments

import (
	"context"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/billingdb"
	"kith/core"
)

// Operations are the work at payment gateways that has failed.
type Operations struct {
	*base.Base
	Gateways *Gateways
}

// MaxOperations is the most operations of each kind that List returns.
const MaxOperations = 100

// List returns the operations of a tenant that have failed: the refunds that the gateway
// refused for good, and the subscriptions and codes that are tried again, or wait for
// Retry.
func (os *Operations) List(ctx context.Context, tenant core.TenantAlias) ([]billingdb.Operation, error) {
	return billingdb.Operations(ctx, os.DB.Reads, tenant, MaxOperations)
}

// Retry makes a worker try an operation now. A refund cannot be retried: a person must
// make it at the gateway, who sees why it was refused. An operation that has not failed is
// a not-found error.
func (os *Operations) Retry(ctx context.Context, tenant core.TenantAlias, kind, id string) error {
	var retry func(context.Context, *store.Tx, core.TenantAlias, string) (bool, error)
	switch kind {
	case billingdb.ReadSubscription:
		retry = billingdb.RetrySubscription
	case billingdb.WriteCoupon:
		retry = billingdb.RetryCoupon
	default:
		return core.Invalid("kind", "must be subscription or coupon; make a refund that failed at the gateway yourself")
	}
	err := os.DB.Write(ctx, os.Now(), func(tx *store.Tx) error {
		known, err := retry(ctx, tx, tenant, id)
		if err == nil && !known {
			err = core.NotFound("this operation has not failed; load the list again")
		}
		return err
	})
	if err == nil {
		os.Gateways.wake()
	}
	return err
}
