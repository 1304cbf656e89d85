package store_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store"
	"kith/backend/store/eventdb"
	"kith/core"
	"kith/core/event"
)

// Events are listed by descending time of receipt, and must meet all conditions of
// the filter. Unprocessed events are not listed.
func TestEvents_Filters(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		b = worker(t, b)
		for i, who := range []struct {
			account core.AccountID
			user    core.UserID
		}{{"a", "anna"}, {"b", "ben"}, {"a", "alf"}, {"a", "anna"}} {
			at := now + core.Time(10*i)
			batch := event.Call{Account: who.account, User: who.user, Events: []event.Event{{Key: "visit", Fields: `{"n":1.50}`, Triggered: at - 5}}}
			if i == 3 {
				batch.Events[0].Key = "purchase"
			}
			batch.Stamp(at, entropy())
			b.write(t, func(ctx context.Context, tx *store.Tx) error {
				return putUser(ctx, tx, b.tenant, who.account, who.user)
			})
			_, err := eventdb.AppendIntake(t.Context(), b.db, b.tenant, batch)
			require.NoError(t, err)
		}
		none, err := eventdb.List(t.Context(), b.db.Reads, b.tenant, event.Filter{Limit: 10})
		require.NoError(t, err)
		require.Empty(t, none)
		require.Equal(t, eventdb.Processed{Calls: 4, Events: 4}, b.process(t, 10))
		all, err := eventdb.List(t.Context(), b.db.Reads, b.tenant, event.Filter{Limit: 10})
		require.NoError(t, err)
		require.Len(t, all, 4)
		require.Equal(t, event.Logged{
			Event:   event.Event{ID: all[0].ID, Key: "purchase", Fields: `{"n":1.50}`, Triggered: now + 25},
			Account: "a", User: "anna", Received: now + 30, Processed: now + 100,
		}, all[0])
		for name, c := range map[string]struct {
			filter event.Filter
			want   []int // positions in all
		}{
			"account":        {event.Filter{Account: "a"}, []int{0, 1, 3}},
			"user":           {event.Filter{Account: "a", User: "anna"}, []int{0, 3}},
			"unknown user":   {event.Filter{Account: "b", User: "anna"}, nil},
			"id":             {event.Filter{ID: all[2].ID}, []int{2}},
			"key":            {event.Filter{Key: "visit"}, []int{1, 2, 3}},
			"triggered":      {event.Filter{Triggered: core.Span{From: now + 5, Before: now + 25}}, []int{1, 2}},
			"received":       {event.Filter{Received: core.Span{From: now + 20}}, []int{0, 1}},
			"processed":      {event.Filter{Processed: core.Span{Before: now + 100}}, nil},
			"processed then": {event.Filter{Processed: core.Span{From: now + 100, Before: now + 101}}, []int{0, 1, 2, 3}},
			"page":           {event.Filter{Offset: 1, Limit: 2}, []int{1, 2}},
			"page of a user": {event.Filter{Account: "a", User: "anna", Offset: 1}, []int{3}},
			"all together":   {event.Filter{Account: "a", User: "anna", Key: "visit", Received: core.Span{From: now, Before: now + 1}}, []int{3}},
		} {
			if c.filter.Limit == 0 {
				c.filter.Limit = 10
			}
			got, err := eventdb.List(t.Context(), b.db.Reads, b.tenant, c.filter)
			require.NoError(t, err, name)
			var want []event.Logged
			for _, i := range c.want {
				want = append(want, all[i])
			}
			require.Equal(t, want, got, name)
		}
		others, err := eventdb.List(t.Context(), b.db.Reads, newTenant(t, b.db), event.Filter{Limit: 10})
		require.NoError(t, err)
		require.Empty(t, others)
	})
}
