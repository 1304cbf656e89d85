package peopledb

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store"
	"kith/backend/store/sqltest"
	"kith/core"
	"kith/core/operation"
	"kith/core/people"
)

// The calls of each request, and the audit log with any filter, find their rows by index.
func TestReads_FindByIndex(t *testing.T) {
	t.Parallel()
	explained := sqltest.Explained{DB: sqltest.File(t), T: t}
	r := store.NewReads(explained)
	ctx := t.Context()
	_, _, _, err := FindSession(ctx, r, "h")
	require.NoError(t, err)
	_, err = WithEmail(ctx, r, "a@b")
	require.NoError(t, err)
	_, _, err = FindMemberByEmail(ctx, r, "t", "a@b")
	require.NoError(t, err)
	_, _, err = FindReset(ctx, r, "h", 1)
	require.NoError(t, err)
	_, _, err = FindInvitation(ctx, r, "h", 1)
	require.NoError(t, err)
	_, _, err = FindByIdentity(ctx, r, "https://id.example", "s")
	require.NoError(t, err)
	_, err = HasIdentity(ctx, r, "https://id.example", "p")
	require.NoError(t, err)
	_, err = InvitationsOf(ctx, r, "a@b", 1)
	require.NoError(t, err)
	_, err = Sessions(ctx, r, "p")
	require.NoError(t, err)
	_, err = Memberships(ctx, r, "p")
	require.NoError(t, err)
	_, _, err = FindMember(ctx, r, "t", "p")
	require.NoError(t, err)
	_, err = CountRecovery(ctx, r, "p")
	require.NoError(t, err)
}

// A page of the audit log is read from its index in the order of the answer: nothing is
// sorted, whatever the filter.
func TestEntries_AreNotSorted(t *testing.T) {
	t.Parallel()
	explained := sqltest.Explained{DB: sqltest.File(t), T: t}
	for _, f := range []people.AuditFilter{
		{}, {Before: 7}, {Action: operation.InviteMember.Action, Before: 7},
		{Actor: "Ann", Subject: "100%", Span: core.Span{From: 1, Before: 2}},
	} {
		for _, step := range explained.Plan(entriesOf(f)) {
			require.NotContains(t, step, "TEMP B-TREE", "%+v", f)
			require.NotContains(t, step, "SCAN", "%+v", f)
		}
	}
}
