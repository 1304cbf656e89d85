package rewarddb

import (
	"strings"
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
	for i, statement := range PutStates.Statements() {
		explained.Explain(statement, make([]any, []int{2, 1 + 2*len(PutStates.Columns)}[i]))
	}
	require.NoError(t, attachRedemptions(t.Context(), store.NewReads(explained), "t", []reward.Reward{{ID: "r", Sums: reward.Sums{Redeemed: 1}}}))
}

// A reward may have thousands of redemptions. The index has them in their order, so that only
// the latest are read.
func TestRewards_LastRedemptionsAreReadInOrder(t *testing.T) {
	t.Parallel()
	plan := strings.Join(sqltest.Explained{DB: sqltest.File(t), T: t}.Plan(lastRedemptions+`(?) ORDER BY l.seq DESC`, []any{1, "t", "r"}), "\n")
	require.Contains(t, plan, "SEARCH reward_ledger USING INDEX reward_ledger_of (tenant=? AND reward_id=?)")
	require.NotContains(t, plan, "TEMP B-TREE")
}
