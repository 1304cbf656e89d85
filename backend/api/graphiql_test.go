package api

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The embedded third-party files are unchanged: each has its hash in sha256sums, which is
// that of the file before it was compressed, and sha256sums lists no other file.
func TestGraphiQL_ThirdPartyFilesAreUnchanged(t *testing.T) {
	t.Parallel()
	folder, err := fs.Sub(thirdParty, "graphiql/third_party")
	require.NoError(t, err)
	list, err := fs.ReadFile(folder, "sha256sums")
	require.NoError(t, err)
	want := map[string]string{}
	for line := range strings.Lines(string(list)) {
		words := strings.Fields(line)
		require.Len(t, words, 2, line)
		want[words[1]] = words[0]
	}
	got := map[string]string{}
	require.NoError(t, fs.WalkDir(folder, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Dir(name) == "." {
			return err
		}
		text, err := fs.ReadFile(folder, name)
		require.NoError(t, err)
		plain, packed := strings.CutSuffix(name, ".gz")
		if packed {
			answer := httptest.NewRecorder()
			require.NoError(t, writePacked(answer, text, false))
			text = answer.Body.Bytes()
		}
		sum := sha256.Sum256(text)
		got[plain] = hex.EncodeToString(sum[:])
		return nil
	}))
	require.Equal(t, want, got)
	for _, name := range graphiQLFiles {
		require.Contains(t, want, strings.TrimSuffix(name, ".gz"))
	}
}

// A client that accepts gzip gets a file as it is stored; another one gets it decompressed.
func TestGraphiQL_Files(t *testing.T) {
	t.Parallel()
	a := &API{}
	serve := func(name, accept string) (http.Header, string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.SetPathValue("file", name)
		r.Header.Set("Accept-Encoding", accept)
		answer := httptest.NewRecorder()
		require.NoError(t, a.graphiQLFile(answer, r))
		return answer.Header(), answer.Body.String()
	}
	for name := range graphiQLFiles {
		h, packed := serve(name, "br, gzip")
		require.Equal(t, "gzip", h.Get("Content-Encoding"))
		zip, err := gzip.NewReader(strings.NewReader(packed))
		require.NoError(t, err)
		want, err := io.ReadAll(zip)
		require.NoError(t, err)
		h, plain := serve(name, "br")
		require.Empty(t, h.Get("Content-Encoding"))
		require.Equal(t, "Accept-Encoding", h.Get("Vary"))
		require.Equal(t, string(want), plain)
	}
	h, script := serve("page.js", "gzip")
	require.Empty(t, h.Get("Content-Encoding"))
	require.Equal(t, string(graphiQLScript), script)
}
