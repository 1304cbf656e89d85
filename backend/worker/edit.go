package worker

import (
	"context"
	"log/slog"
	"time"

	"kith/backend/app/tenants"
	"kith/backend/downstream"
)

// editPoll is how often edits are looked for, and how often they are reported at most: an edge
// reads all that it keeps for each report.
const editPoll = time.Second

// NewEdits returns the worker that reports to an edge which tenants were edited. Each backend
// reports by itself: a report may be repeated, and the first one names all tenants. One that fails
// is repeated; meanwhile what the edge keeps is valid until its time.
func NewEdits(ts *tenants.Tenants, edge downstream.Edge, log *slog.Logger) *Worker {
	reported, failing := int64(-1), false
	w := newWorker("edits", editPoll, log, func(ctx context.Context) error {
		edited, err := ts.Edited(ctx, reported)
		if err != nil || edited.Last == reported {
			return err
		}
		err = edge.Report(ctx, edited.Tenants)
		switch {
		case err == nil:
			reported = edited.Last
		case !failing && ctx.Err() == nil:
			log.Warn("an edge does not take reports of edits: it keeps links until their time", "edge", edge.URL, "error", err)
		}
		failing = err != nil
		return nil
	})
	return w
}
