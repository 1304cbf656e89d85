package worker_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/app"
	"kith/backend/app/base"
	"kith/backend/store/eventdb"
	"kith/backend/store/sqldtest"
	"kith/backend/store/storetest"
	"kith/backend/worker"
	"kith/core"
	"kith/core/analytics"
)

// A clean stop stores everything that was counted before it.
func TestAnalytics_StopStoresPendingCounts(t *testing.T) {
	t.Parallel()
	b := run(t, storetest.File(t))
	engine := app.New(base.Base{DB: b.db, Now: func() core.Time { return now }, Entropy: func([]byte) {}})
	worker := worker.NewAnalytics(&engine.Analytics, slog.New(slog.NewTextHandler(b.log, nil)))
	worker.Finish = sqldtest.Deadline
	require.NoError(t, engine.Analytics.Count(t.Context(), "t", analytics.Event{Kind: analytics.Loaded, Account: "a", User: "u"}))
	ctx, stop := context.WithCancel(t.Context())
	stop()
	worker.Run(ctx)
	counts, total, err := eventdb.Analytics(t.Context(), b.db.Reads, "t", analytics.Filter{Limit: 10})
	require.NoError(t, err)
	require.Equal(t, 1, total)
	require.EqualValues(t, 1, counts[0].Times)
}
