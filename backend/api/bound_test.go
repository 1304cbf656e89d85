package api

import (
	"context"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/app/base"
	"kith/core"
	"kith/core/wire"
)

// GraphQL calls without credentials wait for a free slot. Other calls do not wait.
func TestAnonymousSlots(t *testing.T) {
	for range max(1, runtime.GOMAXPROCS(0)/2) {
		release, err := anonymousSlot(t.Context(), netip.Addr{}, base.Caller{})
		require.NoError(t, err)
		defer release()
	}
	ended, end := context.WithCancel(t.Context())
	end()
	_, err := anonymousSlot(ended, netip.Addr{}, base.Caller{})
	var refused *core.Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, core.CodeUnavailable, refused.Code)
	for _, authenticated := range []base.Caller{{Key: true}, {User: &wire.Subject{}}} {
		release, err := anonymousSlot(t.Context(), netip.Addr{}, authenticated)
		require.NoError(t, err)
		release()
	}
}

// Any client may request the OpenAPI document, so each request must cost little.
// Converting it for each request made 268,565 allocations.
func TestOpenAPI_IsConvertedOnce(t *testing.T) {
	ask := func() {
		require.NoError(t, openapiDocument(httptest.NewRecorder(), nil))
	}
	ask()
	require.Less(t, testing.AllocsPerRun(3, ask), 100.0)
}
