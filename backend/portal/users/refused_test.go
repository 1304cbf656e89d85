package users_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/app/base"
	"kith/backend/portal/portaltest"
	"kith/backend/store/tenantdb"
	"kith/core/event"
)

// The overview counts the refused events of 7 days, and leads to a list of those of 30 days.
func TestRefused(t *testing.T) {
	t.Parallel()
	w := shop(t)
	b := w.SignedIn(t, portaltest.Owner)
	const overview = "/portal/t/acme/overview"
	require.NotContains(t, b.Get(overview).Body, "Needs attention")
	require.Contains(t, b.Get(list+"/refused").Text(), "No refused events")
	tenant, err := tenantdb.Find(t.Context(), w.Engine.DB.Reads, "acme")
	require.NoError(t, err)
	send := func(key, fields string) {
		t.Helper()
		_, err := w.Engine.Events.Log(t.Context(), base.Caller{Tenant: tenant, Key: true}, event.Call{
			Account: "ben", User: "ben", Key: "order-0001", Events: []event.Event{{Key: key, Fields: fields}},
		})
		require.True(t, err == nil || event.IsDuplicate(err), err)
	}
	send("purchase", `{"order_id":"7","revenue":80}`)
	send("refund", `{"order_id":"7","refund_id":"<r>","revenue":20}`)
	send("refund", `{"order_id":"7","refund_id":"<r>","revenue":20}`)
	require.Regexp(t, `href="`+list+`/refused">event call was refused in 7 days`, b.Get(overview).Body)
	got := b.Get(list + "/refused")
	require.Equal(t, []string{"ben/ben"}, found(got.Body))
	require.Contains(t, got.Body, "&lt;r&gt;")
	for _, text := range []string{"a key of its own", "purchase", "refund", "order_id: 7", "revenue: 20", "order-0001", "2 times since"} {
		require.Contains(t, got.Text(), text)
	}
	for i := range 25 {
		send("refund", fmt.Sprintf(`{"order_id":"8","refund_id":"more-%d"}`, i))
	}
	require.Contains(t, b.Get(overview).Text(), "26 event calls were refused in 7 days")
	older := b.Get(list + "/refused?after=25")
	require.Contains(t, older.Body, "&lt;r&gt;")
	require.NotContains(t, older.Body, "more-")
	require.NotContains(t, b.Get(list+"/refused").Body, "&lt;r&gt;")
	require.Contains(t, b.Get(list+"/refused").Body, `href="`+list+`/refused?after=25" rel="next"`)
	require.Equal(t, http.StatusBadRequest, b.Get(list+"/refused?after=x").Status)

	w.Pass(event.RefusedAttention + 1)
	b = w.SignedIn(t, portaltest.Owner)
	require.NotContains(t, b.Get(overview).Body, "Needs attention")
	require.Contains(t, b.Get(list+"/refused").Text(), "order_id: 8")
}
