package upstream_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/upstream"
	"kith/core"
	"kith/core/auth"
)

const now core.Time = 1_772_355_600_000

func TestBackend_Check(t *testing.T) {
	t.Parallel()
	keys, err := auth.ParseKeyring(strings.Repeat("01", 32))
	require.NoError(t, err)
	other, err := auth.ParseKeyring(strings.Repeat("02", 32))
	require.NoError(t, err)
	for name, c := range map[string]struct {
		status, refused string
		clock           core.Time
		away            bool
		says            string
	}{
		"it serves":                   {"200", "", now, false, ""},
		"its clock is within":         {"200", "", now + core.Minute, false, ""},
		"its clock is ahead":          {"200", "", now + core.Minute + 1, false, "differs by +60.0 s from that of this edge, and 60 s are tolerated"},
		"its clock is behind":         {"200", "", now - core.Hour, false, "differs by -3600.0 s"},
		"it is not ready":             {"503", "", now, true, "answers 503"},
		"it refuses the key":          {"503", "master-key", now, false, "refuses the signature"},
		"it refuses the clock":        {"503", "clock", now + core.Hour, false, "differs by +3600.0 s"},
		"a proxy answers in its name": {"", "", now, true, "is not from a backend"},
		"it has a newer key":          {"200", "", now, false, "signs with a master key that this edge does not have"},
		"it is not ready, newer key":  {"503", "", now, false, "signs with a master key that this edge does not have"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				hop := auth.Hop{
					Method: r.Method, URI: r.RequestURI, For: r.Header.Get(auth.ForwardedForHeader),
					Proto: r.Header.Get(auth.ForwardedProtoHeader), Host: r.Header.Get(auth.ForwardedHostHeader),
				}
				if hop.Verify(keys.Hop(), r.Header.Get(auth.HopHeader), now, 0) != "" {
					t.Error("the request is not signed")
				}
				w.Header().Set(auth.TimeHeader, strconv.FormatInt(int64(c.clock), 10))
				if c.refused != "" {
					w.Header().Set(auth.RefusalHeader, c.refused)
				} else if c.status != "" {
					by := keys
					if strings.HasSuffix(name, "newer key") {
						by = other
					}
					w.Header().Set(auth.StatusHeader, c.status)
					w.Header().Set(auth.EnvelopeHeader, auth.Envelope{Hop: r.Header.Get(auth.HopHeader), Status: c.status}.Sign(by.Hop()))
				}
			}))
			t.Cleanup(server.Close)
			err := upstream.Backend{URL: server.URL + "/", Keys: keys, Tolerance: core.Minute, Now: func() core.Time { return now }}.Check(t.Context())
			require.Equal(t, c.away, errors.Is(err, upstream.ErrAway))
			if c.says == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.says)
			}
		})
	}
	err = upstream.Backend{URL: "http://127.0.0.1:1", Keys: keys, Now: func() core.Time { return now }}.Check(t.Context())
	require.ErrorIs(t, err, upstream.ErrAway)
}
