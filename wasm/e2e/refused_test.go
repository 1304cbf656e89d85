package e2e

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// A refund with the idempotency key of its purchase is refused with the same bytes by the
// edge and by the backend, and listed. It is refused too if it cannot be recorded: the table
// is missing, or the backend is away or overloaded.
func TestEvents_RefusedForTheKeyOfOthers(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	backend := s.serve(t)
	s.identify(t, s.backend, "demo", "anna", `{}`)
	edge := s.serveEdge(t)
	const purchase = `{"idempotencyKey":"order-1001","events":[{"key":"purchase","fields":{"order_id":"1","revenue":80,"currency":"USD"}}]}`
	const refund = `{"idempotencyKey":"order-1001","events":[{"key":"refund","fields":{"order_id":"1","revenue":80,"currency":"USD"}}]}`
	send := func(base, body string) answer {
		t.Helper()
		a, err := s.sendEvents(base, "demo", "anna", body)
		require.NoError(t, err)
		return a
	}
	type refused struct {
		UserID, Event, RecordedEvent string
		Times                        int
	}
	listed := func() []refused {
		t.Helper()
		a := mustCall(t, http.StatusOK, "GET", s.edge+"/api/v1/demo/events/refused", "", s.auth("demo"))
		return decode[struct{ Refused []refused }](t, a).Refused
	}
	require.Equal(t, http.StatusOK, send(s.edge, purchase).status)
	for _, base := range []string{s.edge, s.backend} {
		require.Equal(t, http.StatusConflict, send(base, purchase).status)
	}
	require.Empty(t, listed(), "the same call again is no other call")

	want := send(s.backend, refund)
	require.Equal(t, http.StatusConflict, want.status)
	require.Contains(t, want.body, `"differs":true,"recordedEvent":"purchase"`)
	require.Equal(t, want.body, send(s.edge, refund).body)
	require.Equal(t, []refused{{"anna", "refund", "purchase", 2}}, listed())

	_, err := s.open(t).Exec(`DROP TABLE refused_event`)
	require.NoError(t, err)
	for _, base := range []string{s.edge, s.backend} {
		a := send(base, refund)
		require.Equal(t, http.StatusConflict, a.status)
		require.Equal(t, want.body, a.body)
	}
	backend.waitLog(t, "refused events are missing in the list of refused events")

	backend.kill()
	a := send(s.edge, refund)
	require.Equal(t, http.StatusConflict, a.status)
	require.Equal(t, want.body, a.body)
	edge.waitLog(t, "the backend cannot be reached")
	edge.kill()
	overloaded := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.writeEnvelope(t, w, r, http.StatusServiceUnavailable) }))
	t.Cleanup(overloaded.Close)
	s.backend = overloaded.URL
	s.serveEdge(t)
	a = send(s.edge, refund)
	require.Equal(t, http.StatusConflict, a.status)
	require.Equal(t, want.body, a.body)
}
