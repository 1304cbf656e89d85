package events

import (
	"context"
	"errors"
	"log/slog"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/eventdb"
	"kith/core"
	"kith/core/event"
	"kith/core/wire"
)

// recordRefused records a call with the API key that failed with err because its key was used
// for other events. Calls without the API key are not recorded: any page could send them. The
// answer does not depend on the record, so an error is only logged.
func (es *Events) recordRefused(ctx context.Context, by base.Caller, c event.Call, err error) {
	refused, ok := errors.AsType[*core.Error](err)
	if !by.Key || !ok || refused.Recorded == "" {
		return
	}
	ctx, cancel := es.bounded(ctx)
	defer cancel()
	err = es.DB.Write(ctx, es.Now(), func(tx *store.Tx) error {
		return eventdb.PutRefused(ctx, tx, by.Tenant.Alias, wire.Refused(c, refused.Recorded))
	})
	if err != nil {
		slog.Error("refused events are missing in the list of refused events", "tenant", by.Tenant.Alias, "error", err)
	}
}

// Refused returns a page of the calls that were refused because their key was used for other
// events, the last received first, and their total number.
func (es *Events) Refused(ctx context.Context, tenant core.TenantAlias, p base.Page) ([]event.Refused, int, error) {
	return eventdb.Refused(ctx, es.DB.Lists, tenant, p.Limit, p.Offset)
}

// ForgetRefused removes the refused calls that are older than event.RefusedKept, and returns
// their number.
func (es *Events) ForgetRefused(ctx context.Context) (removed int, err error) {
	return es.Forget(ctx, func(tx *store.Tx) (int, error) {
		return eventdb.DeleteOldRefused(ctx, tx, tx.Now-event.RefusedKept, base.ForgetBatch)
	})
}
