// Package health checks whether a process of the backend can serve.
package health

import (
	"context"

	"kith/backend/app/base"
	"kith/backend/app/ready"
	"kith/backend/store/secretdb"
	"kith/core"
)

// Health checks the database of a process: that it can be read and written, has the
// tables that this program needs, and belongs to this master key.
type Health struct {
	*base.Base
	check ready.Check
}

// New returns the checks of a process.
func New(b *base.Base) *Health {
	h := &Health{Base: b}
	h.check.Do, h.check.Hangs = h.run, unavailable("the database does not answer in time", nil)
	return h
}

// Ready returns why the process cannot serve, or nil if it can. The error has the code
// unavailable. The result is up to a second old; see ready.Check.
func (h *Health) Ready(ctx context.Context) error { return h.check.Err(ctx) }

func (h *Health) run(ctx context.Context) error {
	schema, err := h.DB.Schema(ctx)
	if err != nil {
		return unavailable("the database does not answer", err)
	}
	if err := schema.Older(); err != nil {
		return unavailable(err.Error(), nil)
	}
	has, err := secretdb.FindMasterKey(ctx, h.DB.Reads)
	if err != nil {
		return unavailable("the database does not answer", err)
	}
	if !h.Keys.Belongs(has.Fingerprint, has.Next) {
		return unavailable("the master key of this process is not that of the database; give it the key by KITH_MASTER_KEY and, while it is being replaced, the next one by KITH_MASTER_KEY_NEW", nil)
	}
	if err := h.DB.CheckWritable(ctx, h.Now()); err != nil {
		return unavailable("the database does not accept writes", err)
	}
	return nil
}

func unavailable(message string, cause error) error {
	return &core.Error{Code: core.CodeUnavailable, Message: message, Err: cause}
}
