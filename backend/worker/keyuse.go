package worker

import (
	"log/slog"
	"time"

	"kith/backend/app/tenants"
	"kith/core/auth"
)

// NewKeyUses returns the worker that stores when API keys were last used.
func NewKeyUses(k *tenants.APIKeys, log *slog.Logger) *Worker {
	return newWorker("key uses", time.Duration(auth.KeyUseStep)*time.Millisecond, log, k.SaveUses)
}
