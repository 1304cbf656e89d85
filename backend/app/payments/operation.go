package payments

import (
	"context"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/billingdb"
	"kith/core"
	"kith/core/billing"
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
func (os *Operations) List(ctx context.Context, tenant core.TenantAlias) ([]billing.Operation, error) {
	return billingdb.Operations(ctx, os.DB.Reads, tenant, MaxOperations)
}

// Retry makes a worker try an operation now that has failed, or all of the tenant if kind
// and id are empty, and returns their number. A refund cannot be retried. An operation that
// has not failed is a not-found error.
func (os *Operations) Retry(ctx context.Context, tenant core.TenantAlias, kind billing.OperationKind, id string) (n int, err error) {
	kinds := []billing.OperationKind{kind}
	if kind == "" && id == "" {
		kinds = billing.Retried()
	} else if _, err := billing.ParseRetried("kind", string(kind)); err != nil {
		return 0, err
	} else if id == "" {
		return 0, core.Invalid("id", "is required with kind; give the id of an operation that has failed")
	}
	n, err = store.WriteValue(ctx, os.DB.Write, os.Now(), func(tx *store.Tx) (n int, err error) {
		for _, kind := range kinds {
			retried, err := billingdb.Retry(ctx, tx, tenant, kind, id)
			if err != nil {
				return n, err
			}
			n += retried
		}
		if n == 0 && id != "" {
			return n, core.NotFound("this operation has not failed; list the operations again")
		}
		return n, nil
	})
	if err == nil && n > 0 {
		os.Gateways.Wake()
	}
	return n, err
}
