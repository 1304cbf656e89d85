package worker

import (
	"context"
	"log/slog"
	"time"

	"kith/backend/store"
	"kith/core"
)

// beat is how often the current time is stored, by one of the running backends.
const beat = time.Second

// NewHeartbeat returns the worker that stores the current time once a second. The
// newest time on a replica shows how far the replica lags behind.
func NewHeartbeat(db *store.Primary, now func() core.Time, log *slog.Logger) *Worker {
	return newWorker("heartbeat", beat, log, func(ctx context.Context) error {
		at := now()
		return db.Write(ctx, at, func(tx *store.Tx) error { return tx.Heartbeat(ctx, at-core.Second*9/10) })
	})
}
