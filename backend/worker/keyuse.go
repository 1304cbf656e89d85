package worker

import (
	"log/slog"
	"time"

	"kith/backend/app"
	"kith/core/auth"
)

// NewKeyUses returns the worker that writes down when API keys were last used.
func NewKeyUses(e *app.Engine, log *slog.Logger) *Worker {
	return newWorker("key uses", time.Duration(auth.KeyUseStep)*time.Millisecond, log, e.APIKeys.SaveUses)
}
