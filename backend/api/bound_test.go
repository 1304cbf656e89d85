package api

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/app/base"
	"kith/core"
	"kith/core/wire"
)

// GraphQL calls without credentials wait for each other; all others do not.
func TestStrangersTurn(t *testing.T) {
	for range cap(strangerCalls) {
		leave, err := strangersTurn(t.Context(), base.Caller{})
		require.NoError(t, err)
		defer leave()
	}
	ended, end := context.WithCancel(t.Context())
	end()
	_, err := strangersTurn(ended, base.Caller{})
	var refused *core.Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, core.CodeUnavailable, refused.Code)
	for _, known := range []base.Caller{{Key: true}, {User: &wire.Subject{}}} {
		leave, err := strangersTurn(t.Context(), known)
		require.NoError(t, err)
		leave()
	}
}

// Anybody may ask for the OpenAPI document, so asking costs little: converting it
// once made 268,565 allocations.
func TestOpenAPI_IsConvertedOnce(t *testing.T) {
	ask := func() {
		require.NoError(t, openapi(httptest.NewRecorder(), nil))
	}
	ask()
	require.Less(t, testing.AllocsPerRun(3, ask), 100.0)
}
