package rewarddb

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store"
	"kith/backend/store/sqltest"
	"kith/core/reward"
)

// Rewards are found by index where they are changed, and so are their redemptions.
func TestRewards_FindByIndex(t *testing.T) {
	t.Parallel()
	explained := sqltest.Explained{DB: sqltest.File(t), T: t}
	explained.Explain(putRewards, []any{"t", "[]"})
	require.NoError(t, attachRedemptions(t.Context(), store.NewReads(explained), "t", []reward.Reward{{ID: "r", Sums: reward.Sums{Redeemed: 1}}}))
}
