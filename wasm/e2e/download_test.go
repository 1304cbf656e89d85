package e2e

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A file that is too large for one answer of an edge is downloaded in parts. Without the
// header Range the edge's answer says so, and a backend sends the whole file.
func TestDownload_LargeFileThroughAnEdge(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	s.serve(t)
	s.serveEdge(t)
	var file strings.Builder
	file.WriteString("accountId,id,firstName\n")
	noise := make([]byte, 45_000)
	for i := range 800 {
		_, _ = rand.Read(noise) // it never fails
		fmt.Fprintf(&file, "a%d,u%d,%s\n", i, i, base64.RawURLEncoding.EncodeToString(noise))
	}
	require.Greater(t, file.Len(), 40<<20)
	id := s.beginJob(t, "MUTATION/USER", "large.csv", file.String())
	s.ended(t, id)
	path := "/api/v1/demo/export/" + id + "/download?file=source"

	refused := mustCall(t, http.StatusRequestEntityTooLarge, "GET", s.edge+path, "", s.auth("demo"))
	require.Contains(t, refused.body, "begin with the header Range: bytes=0-")
	whole := mustCall(t, http.StatusOK, "GET", s.backend+path, "", s.auth("demo"))
	require.True(t, whole.body == file.String(), "the backend sends the file as it was sent")

	var got strings.Builder
	parts := 0
	for ; got.Len() < file.Len(); parts++ {
		part := mustCall(t, http.StatusPartialContent, "GET", s.edge+path, "", s.auth("demo"), "Range: bytes="+strconv.Itoa(got.Len())+"-")
		require.Equal(t, fmt.Sprintf("bytes %d-%d/%d", got.Len(), got.Len()+len(part.body)-1, file.Len()), part.header.Get("Content-Range"))
		got.WriteString(part.body)
	}
	require.True(t, got.String() == file.String(), "the parts are the file")
	require.Equal(t, (file.Len()+16<<20-1)/(16<<20), parts)
	require.Equal(t, file.String()[100:201], mustCall(t, http.StatusPartialContent, "GET", s.edge+path, "", s.auth("demo"), "Range: bytes=100-200").body)
	for _, ignored := range []string{"bytes=-5", "bytes=5-4", "bytes=99999999999-", "bytes=0-1,3-4", "items=0-5", "bytes=x-"} {
		require.Len(t, mustCall(t, http.StatusOK, "GET", s.backend+path, "", s.auth("demo"), "Range: "+ignored).body, file.Len(), ignored)
	}
}
