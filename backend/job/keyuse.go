package job

import (
	"log/slog"
	"time"

	"kith/backend/program"
	"kith/core/auth"
)

// NewKeyUses returns the worker that writes down when API keys were last used.
func NewKeyUses(e *program.Engine, log *slog.Logger) *Worker {
	return newWorker("key uses", time.Duration(auth.KeyUseStep)*time.Millisecond, log, e.NoteKeyUses)
}
