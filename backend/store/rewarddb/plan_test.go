package rewarddb

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store"
	"kith/backend/store/sqltest"
	"kith/core/reward"
)

// Updates of rewards, and reads of their redemptions, use an index.
func TestRewards_FindByIndex(t *testing.T) {
	t.Parallel()
	explained := sqltest.Explained{DB: sqltest.File(t), T: t}
	explained.Explain(putRewards, []any{"t", "[]"})
	require.NoError(t, attachRedemptions(t.Context(), store.NewReads(explained), "t", []reward.Reward{{ID: "r", Sums: reward.Sums{Redeemed: 1}}}))
}
