package worker

import (
	"context"
	"log/slog"
	"time"
)

// maxBackupTick is the longest time until a backup that is due is noticed.
const maxBackupTick = 30 * time.Second

// NewBackups returns the worker that makes a backup when one is due, by calling run. A
// backup takes long: one that is being made when the worker is stopped is given up.
func NewBackups(every time.Duration, log *slog.Logger, run func(context.Context) error) *Worker {
	w := newWorker("backups", min(every, maxBackupTick), log, run)
	w.stopsAtOnce = true
	return w
}
