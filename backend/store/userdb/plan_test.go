package userdb

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store"
	"kith/backend/store/sqltest"
	"kith/core/referral"
)

// Erasures, and reads of the codes of a page of users, use an index.
func TestErasure_FindsByIndex(t *testing.T) {
	t.Parallel()
	explained := sqltest.Explained{DB: sqltest.File(t), T: t}
	for _, statement := range slices.Concat(webhookErasure, userErasure, accountErasure) {
		explained.Explain(statement, []any{"t", "[]"})
	}
	require.NoError(t, attachCodes(t.Context(), store.NewReads(explained), "t", []referral.User{{ID: "a"}, {ID: "b"}}))
}

// Users can be sorted by each field that callers may name.
func TestUserSorts(t *testing.T) {
	t.Parallel()
	for _, field := range referral.UserFields {
		require.Contains(t, userSorts, field)
	}
}
