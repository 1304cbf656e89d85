package app_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/app/base"
	"kith/core"
	"kith/core/event"
)

// A call with the API key that was refused for its idempotency key is listed for 30 days; one
// of a page is not.
func TestEvents_RefusedAreListed(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	holder, page := b.keyHolder(t), b.keyHolder(t)
	page.Key = false
	send := func(by base.Caller, key string) error {
		_, err := b.Events.Log(t.Context(), by, event.Call{Account: "anna", User: "u", Key: "order-0001", Events: []event.Event{{Key: key}}})
		return err
	}
	list := func() []event.Refused {
		t.Helper()
		all, total, err := b.Events.Refused(t.Context(), b.tenant, base.Page{Limit: 10})
		require.NoError(t, err)
		require.Len(t, all, total)
		return all
	}
	for _, by := range []base.Caller{holder, page} {
		require.NoError(t, send(by, "purchase"))
		require.Equal(t, event.Duplicate(""), send(by, "purchase"))
	}
	require.Equal(t, event.Duplicate("purchase"), send(page, "refund"))
	require.Empty(t, list())
	require.Equal(t, event.Duplicate("purchase"), send(holder, "refund"))
	require.Equal(t, []event.Refused{{
		Key: "order-0001", Account: "anna", User: "u", Event: "refund", Recorded: "purchase", Events: `[{"key":"refund","fields":{}}]`,
		Times: 1, First: start, Last: start,
	}}, list())
	for _, age := range []core.Time{event.RefusedKept, 1} {
		require.Len(t, list(), 1)
		b.pass(age)
		_, err := b.Events.ForgetRefused(t.Context())
		require.NoError(t, err)
	}
	require.Empty(t, list())
}
