package base

import (
	"context"
	"strconv"
	"sync/atomic"

	"kith/backend/store"
	"kith/backend/store/leasedb"
)

// leaseNumber is the number of the latest token of this process.
var leaseNumber atomic.Int64

// Take leases work to this process: it runs take in a transaction with the token of the leases,
// unless due returns false. due reads first, so that an idle database needs no write lock at each
// tick of a worker.
func Take[T any](ctx context.Context, b *Base, due func() (bool, error), take func(tx *store.Tx, token string) (T, error)) (taken T, err error) {
	if is, err := due(); err != nil || !is {
		return taken, err
	}
	return store.WriteValue(ctx, b.DB.Write, b.Now(), func(tx *store.Tx) (taken T, err error) {
		token, err := b.Lease(ctx, tx)
		if err != nil {
			return taken, err
		}
		return take(tx, token)
	})
}

// Lease returns the token with which a transaction leases work to this process. A lease is
// released when it ends, when the process stops, and when other processes see that the
// process does not run; see package leases.
func (b *Base) Lease(ctx context.Context, tx *store.Tx) (token string, err error) {
	return b.RenewedToken(), leasedb.Enter(ctx, tx, b.Process)
}

// RenewedToken returns another token of this process, which renews a lease.
func (b *Base) RenewedToken() string {
	return b.Process + "." + strconv.FormatInt(leaseNumber.Add(1), 10)
}
