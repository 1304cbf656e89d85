package api_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/api"
	"kith/backend/portal/portaltest"
	"kith/core/link"
)

// Landing pages get _saasquatch once a script of the older API has called, which may ask for the
// codes of the visitor's cookies only. kith.js asks for them in another form.
func TestReferralCookie_OlderScript(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	h := (&api.API{Engine: w.Engine, Log: slog.New(slog.DiscardHandler)}).Handler()
	for _, c := range []struct {
		query string
		want  link.SquatchParameter
	}{
		{"?cookies=", link.SquatchAuto},
		{"", link.SquatchOn},
	} {
		out := httptest.NewRecorder()
		h.ServeHTTP(out, httptest.NewRequest(http.MethodGet, "/a/acme/widgets/squatchcookiejson"+c.query, nil))
		require.JSONEq(t, `{"code":"","codes":{"0":""}}`, out.Body.String())
		require.NoError(t, w.Engine.APIKeys.SaveUses(t.Context()))
		acme, err := w.Engine.Tenants.ByAlias(t.Context(), "acme")
		require.NoError(t, err)
		require.Equal(t, c.want, acme.SquatchParameter, c.query)
	}
}
