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
