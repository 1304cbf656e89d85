package api

import (
	"compress/gzip"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kith/backend/api/docs"
)

// get requests a page.
func get(t *testing.T, method, target string, headers ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, target, nil)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	a := &API{Log: slog.New(slog.DiscardHandler)}
	a.adapt(a.page).ServeHTTP(w, r)
	return w.Result()
}

func text(t *testing.T, r *http.Response) string {
	t.Helper()
	var in io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		zip, err := gzip.NewReader(in)
		require.NoError(t, err)
		in = zip
	}
	body, err := io.ReadAll(in)
	require.NoError(t, err)
	return string(body)
}

// The page has every operation, every schema and every example, and a link to each.
func TestDocs_ShowsEveryOperation(t *testing.T) {
	t.Parallel()
	page := get(t, "GET", "/docs")
	require.Equal(t, http.StatusOK, page.StatusCode)
	require.Equal(t, "text/html; charset=utf-8", page.Header.Get("Content-Type"))
	require.Equal(t, docs.Policy, page.Header.Get("Content-Security-Policy"))
	html := text(t, page)
	d := served(t)
	for _, o := range d.operations(t) {
		assert.Contains(t, html, `<article id="`+o.body.OperationID+`">`)
		assert.Contains(t, html, `<li><a href="#`+o.body.OperationID+`">`)
		assert.Contains(t, html, "<code>"+o.path+"</code>")
	}
	for name := range d.at(t, "components/schemas").(map[string]any) {
		assert.Contains(t, html, `<article id="`+name+`">`)
	}
	assertLinksResolve(t, html)
	assert.NotContains(t, html, "<script")
}

// The page has every query and mutation, and a link to each.
func TestDocs_ShowsTheGraphQLSchema(t *testing.T) {
	t.Parallel()
	html := text(t, get(t, "GET", "/docs/graphql"))
	for _, name := range []string{"Query.user", "Mutation.logUserEvent", "UserInput", "RewardStatus", "RSDate"} {
		assert.Contains(t, html, `<article id="`+name+`">`)
		assert.Contains(t, html, `<a href="#`+name+`">`)
	}
	assertLinksResolve(t, html)
	assert.NotContains(t, html, "<script")
	sdl, err := os.ReadFile("../graphql/schema.graphql")
	require.NoError(t, err)
	require.Equal(t, string(sdl), text(t, get(t, "GET", "/docs/schema.graphql")))
}

// assertLinksResolve checks the links of a page to its own parts.
func assertLinksResolve(t *testing.T, html string) {
	t.Helper()
	for i, part := range strings.Split(html, `href="#`) {
		if name, _, _ := strings.Cut(part, `"`); i > 0 {
			assert.Contains(t, html, `id="`+name+`"`, "no element has this id")
		}
	}
}

// The pages are sent with gzip to clients that accept it, and have an ETag.
func TestDocs_IsCompressedAndCached(t *testing.T) {
	t.Parallel()
	plain, packed := get(t, "GET", "/docs"), get(t, "GET", "/docs", "Accept-Encoding: gzip, br")
	require.Equal(t, "gzip", packed.Header.Get("Content-Encoding"))
	require.Equal(t, text(t, plain), text(t, packed))
	require.Equal(t, "public, max-age=3600", plain.Header.Get("Cache-Control"))
	tag := packed.Header.Get("ETag")
	require.NotEqual(t, plain.Header.Get("ETag"), tag)
	again := get(t, "GET", "/docs", "Accept-Encoding: gzip", "If-None-Match: "+tag)
	require.Equal(t, http.StatusNotModified, again.StatusCode)
	require.Empty(t, text(t, again))
	require.Empty(t, get(t, "GET", "/docs", "Accept-Encoding: gzip;q=0").Header.Get("Content-Encoding"))
	require.Equal(t, http.StatusOK, get(t, "HEAD", "/docs").StatusCode)
	refused := get(t, "POST", "/docs")
	require.Equal(t, http.StatusMethodNotAllowed, refused.StatusCode)
	require.Equal(t, "GET, HEAD", refused.Header.Get("Allow"))
	require.Equal(t, http.StatusNotFound, get(t, "GET", "/docs/").StatusCode)
}
