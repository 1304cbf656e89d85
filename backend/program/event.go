package program

import (
	"context"

	"kith/core"
	"kith/core/event"
)

// LogEvents takes a batch of events in, at most once for its idempotency key
// (spec, Log user events), and returns it with ids and times. An unknown user
// is a not-found error: events create nobody.
func (e *Engine) LogEvents(ctx context.Context, tenant core.TenantAlias, b event.Batch) (event.Batch, error) {
	known, err := e.DB.UserKnown(ctx, tenant, b.Account, b.User)
	if err == nil && !known {
		err = unknownUser()
	}
	if err != nil {
		return event.Batch{}, err
	}
	b.Stamp(e.Now(), e.entropy6)
	added, err := e.DB.AppendIntake(ctx, tenant, b)
	if err == nil && !added {
		err = event.Duplicate()
	}
	if err != nil {
		return event.Batch{}, err
	}
	e.Wake()
	return b, nil
}
