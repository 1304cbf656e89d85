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
	reported, problem := int64(-1), ""
	return newWorker("edits", editPoll, log, func(ctx context.Context) error {
		edited, err := ts.Edited(ctx, reported)
		if err != nil || edited.Last == reported {
			return err
		}
		err = edge.Report(ctx, edited.Tenants)
		switch {
		case ctx.Err() != nil:
		case err != nil && err.Error() != problem:
			problem = err.Error()
			log.Warn("an edge does not take reports of edits: it keeps answers until their time", "edge", edge.URL, "error", err)
		case err == nil && problem != "":
			problem = ""
			log.Info("an edge takes reports of edits again", "edge", edge.URL)
		}
		if err == nil {
			reported = edited.Last
		}
		return nil
	})
}
