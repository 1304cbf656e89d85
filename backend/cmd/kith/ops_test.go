package main

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// A failing part makes a process not ready, a degraded one is only named.
func TestWriteProbe(t *testing.T) {
	t.Parallel()
	fine := func(context.Context) error { return nil }
	failing := func(context.Context) error { return errors.New("away") }
	lesser := func(context.Context) error { return degraded{errors.New("slow")} }
	for body, c := range map[string]struct {
		probes map[string]probe
		status int
	}{
		`{"status":"ok"}`:                                                         {map[string]probe{"a": fine}, 200},
		`{"status":"ok","degraded":{"b":"slow"}}`:                                 {map[string]probe{"a": fine, "b": lesser}, 200},
		`{"status":"unavailable","failing":{"a":"away"}}`:                         {map[string]probe{"a": failing}, 503},
		`{"status":"unavailable","failing":{"a":"away"},"degraded":{"b":"slow"}}`: {map[string]probe{"a": failing, "b": lesser}, 503},
	} {
		w := httptest.NewRecorder()
		writeProbe(w, stateOf(t.Context(), c.probes))
		require.Equal(t, c.status, w.Code)
		require.JSONEq(t, body, w.Body.String())
		require.Equal(t, c.status == 503, w.Header().Get("Retry-After") != "")
	}
}
