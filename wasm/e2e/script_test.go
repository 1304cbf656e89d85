package e2e

import (
	"compress/gzip"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The edge and the backend serve the built browser script with the same headers, the
// edge also when the backend is down: compressed if the client accepts gzip, and with 304
// if the client has it already.
func TestScript_IsServed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.createTenant(t, "acme", "--landing-url", "https://acme.example/")
	built, err := os.ReadFile(filepath.Join(root, "edge", "script", "kith.min.js"))
	require.NoError(t, err, "run make edge")
	t.Run("edge", func(t *testing.T) {
		s.serveEdge(t)
		checkScript(t, s.edge+"/kith.js", string(built))
		mustCall(t, http.StatusServiceUnavailable, "POST", s.edge+"/kith.js", "")
	})
	t.Run("backend", func(t *testing.T) {
		s.serve(t)
		checkScript(t, s.backend+"/kith.js", string(built))
		wrong := mustCall(t, http.StatusMethodNotAllowed, "POST", s.backend+"/kith.js", "")
		require.Equal(t, "GET, HEAD", wrong.header.Get("Allow"))
	})
}

func checkScript(t *testing.T, url, built string) {
	t.Helper()
	plain := mustCall(t, http.StatusOK, "GET", url, "")
	require.Equal(t, built, plain.body)
	require.Equal(t, "text/javascript; charset=utf-8", plain.header.Get("Content-Type"))
	require.Equal(t, "nosniff", plain.header.Get("X-Content-Type-Options"))
	require.Equal(t, "Accept-Encoding", plain.header.Get("Vary"))
	require.Equal(t, "public, max-age=3600, stale-while-revalidate=86400", plain.header.Get("Cache-Control"))
	require.Equal(t, "*", plain.header.Get("Access-Control-Allow-Origin"))
	require.Equal(t, "cross-origin", plain.header.Get("Cross-Origin-Resource-Policy"))
	require.NotContains(t, plain.header, "Content-Encoding")

	for encoding, compressed := range map[string]bool{
		"gzip": true, "br, GZIP;q=0.5": true, "*": true, "gzip;q=1": true, "deflate, gzip ; q=0.001": true,
		"": false, "br": false, "identity": false, "gzip;q=0": false, "gzip; q=0.0": false, "xgzip": false,
	} {
		a := mustCall(t, http.StatusOK, "GET", url, "", "Accept-Encoding: "+encoding)
		require.Equal(t, compressed, a.header.Get("Content-Encoding") == "gzip", encoding)
		require.Equal(t, "Accept-Encoding", a.header.Get("Vary"))
		if !compressed {
			require.NotContains(t, a.header, "Content-Encoding", encoding)
			require.Equal(t, []string{plain.body, plain.header.Get("Etag")}, []string{a.body, a.header.Get("Etag")}, encoding)
			continue
		}
		require.Less(t, len(a.body), 8192, "the bound of make size")
		unpacked, err := gzip.NewReader(strings.NewReader(a.body))
		require.NoError(t, err)
		text, err := io.ReadAll(unpacked)
		require.NoError(t, err)
		require.Equal(t, built, string(text))
		require.NotEqual(t, plain.header.Get("Etag"), a.header.Get("Etag"), "the compressed script has another ETag")
	}

	tag := plain.header.Get("Etag")
	for _, known := range []string{tag, "W/" + tag, `"x", ` + tag, "*"} {
		a := mustCall(t, http.StatusNotModified, "GET", url, "", "If-None-Match: "+known)
		require.Empty(t, a.body)
		require.Equal(t, tag, a.header.Get("Etag"))
	}
	mustCall(t, http.StatusOK, "GET", url, "", "If-None-Match: "+tag, "Accept-Encoding: gzip")
	mustCall(t, http.StatusOK, "GET", url, "", `If-None-Match: "other"`)

	versioned := mustCall(t, http.StatusOK, "GET", url+"?v="+strings.Trim(tag, `"`), "")
	require.Equal(t, "public, max-age=31536000, immutable", versioned.header.Get("Cache-Control"))
	require.Equal(t, built, versioned.body)
	other := mustCall(t, http.StatusNotFound, "GET", url+"?v=0123456789abcdef", "")
	require.Equal(t, "private, no-store", other.header.Get("Cache-Control"))
	require.Contains(t, other.body, "v: not the version of this service's kith.js")

	head := mustCall(t, http.StatusOK, "HEAD", url, "")
	require.Empty(t, head.body)
	require.Equal(t, tag, head.header.Get("Etag"))
}
