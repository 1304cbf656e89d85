package store_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store"
	"kith/backend/store/eventdb"
	"kith/backend/store/userdb"
	"kith/core"
	"kith/core/event"
)

// A refused call is counted when it comes again; the newest event.MostRefused of a tenant are
// kept, until they are old or their user is erased.
func TestRefused_IsCountedAndBounded(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		other := newTenant(t, b.db)
		refuse := func(tenant core.TenantAlias, at core.Time, calls ...event.Refused) {
			t.Helper()
			require.NoError(t, b.db.Write(t.Context(), at, func(tx *store.Tx) error {
				for _, r := range calls {
					if err := eventdb.PutRefused(t.Context(), tx, tenant, r); err != nil {
						return err
					}
				}
				return nil
			}))
		}
		list := func(tenant core.TenantAlias, limit, offset int) ([]event.Refused, int) {
			t.Helper()
			page, total, err := eventdb.Refused(t.Context(), b.db.Reads, tenant, limit, offset)
			require.NoError(t, err)
			return page, total
		}
		first := event.Refused{Key: "order-1", Digest: "d1", Account: "a", User: "u", Event: "refund", Recorded: "purchase", Events: `[{"key":"refund","fields":{}}]`}
		second := first
		second.Digest, second.Event = "d2", "cancel"
		refuse(b.tenant, now, first, second)
		refuse(b.tenant, now+5, first)
		refuse(other, now, first)
		// The digest is not read.
		first.Digest, first.Times, first.First, first.Last = "", 2, now, now+5
		second.Digest, second.Times, second.First, second.Last = "", 1, now, now
		page, total := list(b.tenant, 10, 0)
		require.Equal(t, []event.Refused{first, second}, page)
		require.Equal(t, 2, total)
		page, total = list(b.tenant, 1, 1)
		require.Equal(t, []event.Refused{second}, page)
		require.Equal(t, 2, total)
		for since, want := range map[core.Time]int{now: 2, now + 1: 1, now + 6: 0} {
			n, err := eventdb.CountRefused(t.Context(), b.db.Reads, b.tenant, since, 2)
			require.NoError(t, err)
			require.Equal(t, want, n)
		}
		n, err := eventdb.CountRefused(t.Context(), b.db.Reads, b.tenant, now, 1)
		require.NoError(t, err)
		require.Equal(t, 1, n)

		many := make([]event.Refused, event.MostRefused-1)
		for i := range many {
			many[i] = event.Refused{Key: "order-2", Digest: fmt.Sprint(i), Account: "a", User: "v", Event: "refund", Recorded: "purchase", Events: `[]`}
		}
		refuse(b.tenant, now+10, many...)
		page, total = list(b.tenant, 1, event.MostRefused-1)
		require.Equal(t, []event.Refused{first}, page, "the oldest was removed")
		require.Equal(t, event.MostRefused, total)

		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			return userdb.EraseUsers(ctx, tx, b.tenant, []userdb.Erasure{{Account: "a", User: "v", Pseudonym: "deleted-1", PseudonymCode: "deleted-1"}})
		})
		page, total = list(b.tenant, 10, 0)
		require.Equal(t, []event.Refused{first}, page)
		require.Equal(t, 1, total)
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			_, err := eventdb.DeleteOldRefused(ctx, tx, now+5, 1000)
			return err
		})
		_, total = list(b.tenant, 10, 0)
		require.Equal(t, 1, total)
		_, total = list(other, 10, 0)
		require.Zero(t, total)
	})
}
