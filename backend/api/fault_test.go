package api_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/api"
	"kith/backend/app/callers"
	"kith/backend/app/referrals"
	"kith/backend/portal/portaltest"
)

// A fault of a handler is answered as other errors are, in the API and in the portal.
func TestHandler_PanicIsAnswered(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, portaltest.Owner)
	require.Equal(t, http.StatusOK, b.Get("/portal/t/acme/referrals").Status)
	w.Engine.Callers, w.Engine.Referrals = callers.Callers{}, referrals.Referrals{}
	var log bytes.Buffer
	h := (&api.API{Engine: w.Engine, Portal: w.Portal, Log: slog.New(slog.NewJSONHandler(&log, nil))}).Handler()
	get := func(path string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.SetBasicAuth("", "key")
		r.Header.Set("Accept", "text/html")
		out := httptest.NewRecorder()
		h.ServeHTTP(out, r)
		return out
	}

	res := get("/api/v1/acme/programs")
	require.Equal(t, http.StatusInternalServerError, res.Code)
	require.JSONEq(t, `{"message":"something went wrong on our side; it has been logged","statusCode":500,"apiErrorCode":"INTERNAL"}`, res.Body.String())
	require.Contains(t, log.String(), `"msg":"request failed"`)
	require.Contains(t, log.String(), `api.go:`)

	page := b.Get("/portal/t/acme/referrals")
	require.Equal(t, http.StatusInternalServerError, page.Status)
	require.Contains(t, page.Body, "This did not work")
	require.Contains(t, page.Body, "<nav", "a whole page")
}
