package worker_test

import (
	"context"
	"crypto/rand"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/app"
	"kith/backend/app/base"
	"kith/backend/store/rewarddb"
	"kith/backend/store/sqldtest"
	"kith/backend/store/storetest"
	"kith/backend/worker"
	"kith/core"
	"kith/core/reward"
)

// The worker records dates that have passed without an API call: at the next tick,
// and at a stop.
func TestRewards_WorkerSettlesDueRewards(t *testing.T) {
	t.Parallel()
	b := run(t, storetest.File(t))
	var clock atomic.Int64
	clock.Store(int64(now))
	engine := app.New(base.Base{
		DB: b.db, Now: func() core.Time { return core.Time(clock.Load()) }, Entropy: func(p []byte) { _, _ = rand.Read(p) },
	})
	r, err := engine.Rewards.Create(t.Context(), "t", reward.Grant{
		Account: "a", User: "u", Source: reward.Manual, Scheduled: now + core.Hour, Expires: now + core.Day,
		Offer: reward.Offer{Kind: reward.Credit, Amount: 5, Unit: "POINT"},
	})
	require.NoError(t, err)
	stored := func() reward.Reward {
		w, err := rewarddb.ByID(t.Context(), b.db.Reads, "t", r.ID)
		require.NoError(t, err)
		return w
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	rewards := worker.NewRewards(&engine.Rewards, &engine.Users, slog.New(slog.NewTextHandler(b.log, nil)))
	rewards.Finish = sqldtest.Deadline
	running.Go(func() { rewards.Run(ctx) })
	clock.Add(int64(core.Hour))
	require.Eventually(t, func() bool { return !stored().Pending }, sqldtest.Deadline, 10*time.Millisecond)
	clock.Add(int64(core.Day))
	stop()
	running.Wait()
	require.Equal(t, reward.Sums{Expired: 5}, stored().Sums)
	require.Empty(t, b.log.String())
}
