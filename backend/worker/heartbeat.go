package worker

import (
	"context"
	"log/slog"
	"time"

	"kith/backend/store"
	"kith/core"
)

// beat is how often the time is written down, by whichever backend comes first.
const beat = time.Second

// NewHeartbeat returns the worker that writes the time down once a second, so
// that a replica's age can be read from the replica.
func NewHeartbeat(db *store.Primary, now func() core.Time, log *slog.Logger) *Worker {
	return newWorker("heartbeat", beat, log, func(ctx context.Context) error {
		at := now()
		return db.Write(ctx, at, func(tx *store.Tx) error { return tx.Beat(ctx, at-core.Second*9/10) })
	})
}
