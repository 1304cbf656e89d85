package e2e

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/client"
	"kith/backend/file/bucket/s3test"
)

// imports returns the sizes of the files in the folder of uploads, complete or not.
func (s *site) imports(t testing.TB, tenant string) map[string]int64 {
	t.Helper()
	sizes := map[string]int64{}
	paths, err := filepath.Glob(filepath.Join(s.data, "files", "imports", tenant, "*"))
	require.NoError(t, err)
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil {
			sizes[filepath.Base(path)] = info.Size()
		}
	}
	return sizes
}

// awaitImports waits until these files satisfy a condition.
func (s *site) awaitImports(t testing.TB, tenant, why string, is func(sizes map[string]int64) bool) {
	t.Helper()
	await(t, func() error {
		if sizes := s.imports(t, tenant); !is(sizes) {
			return fmt.Errorf("%s: the files are %v", why, sizes)
		}
		return nil
	})
}

// begun reports whether a part of a file exists.
func begun(sizes map[string]int64) bool {
	for _, size := range sizes {
		if size >= 100_000 {
			return true
		}
	}
	return false
}

func none(sizes map[string]int64) bool { return len(sizes) == 0 }

// An upload over HTTP whose connection ends in the middle leaves no file and no job, in
// every form and however the connection ends.
func TestUpload_HTTPCutInTheMiddle(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	server := s.serve(t)
	half := userRows(0, 20_000)
	for form, head := range map[string]string{
		"raw":     fmt.Sprintf("Content-Type: text/csv\r\nContent-Length: %d\r\n\r\n%s", 2*len(half), half),
		"chunked": fmt.Sprintf("Content-Type: text/csv\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s", 2*len(half), half),
		"chunks":  fmt.Sprintf("Content-Type: text/csv\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", len(half), half),
		"form": fmt.Sprintf("Content-Type: multipart/form-data; boundary=b\r\nContent-Length: %d\r\n\r\n"+
			"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"users.csv\"\r\n\r\n%s", 2*len(half), half),
	} {
		for end, cut := range map[string]func(*net.TCPConn) error{
			"reset":       func(c *net.TCPConn) error { _ = c.SetLinger(0); return c.Close() },
			"closed":      func(c *net.TCPConn) error { return c.Close() },
			"half closed": func(c *net.TCPConn) error { return c.CloseWrite() },
		} {
			why := form + ", " + end
			conn, err := net.Dial("tcp", strings.TrimPrefix(s.backend, "http://"))
			require.NoError(t, err)
			t.Cleanup(func() { _ = conn.Close() })
			_, err = io.WriteString(conn, "POST /api/v1/demo/export/upload HTTP/1.1\r\nHost: x\r\n"+s.auth("demo")+"\r\n"+head)
			require.NoError(t, err)
			s.awaitImports(t, "demo", why, begun)
			require.NoError(t, cut(conn.(*net.TCPConn)))
			s.awaitImports(t, "demo", why, none)
		}
	}
	require.Empty(t, s.jobs(t, "demo"))
	db := s.open(t)
	require.Zero(t, number(t, db, `SELECT count(*) FROM file WHERE hash <> ''`))
	server.stop(t)
	require.NotContains(t, server.log(t), "level=ERROR", "a broken connection is not logged as an error")
}

// When the backend is killed during an upload to a bucket, no object is visible. The sent
// parts are removed with the tenant.
func TestKillBackend_UploadToBucketIsNoFile(t *testing.T) {
	t.Parallel()
	bucket := s3test.Start(t)
	s := demoSite(t)
	backend := s.serve(t, inBucket(bucket)...)
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.backend, "http://"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	half := strings.Repeat("accountId,id\n", 1<<20)
	_, err = fmt.Fprintf(conn, "POST /api/v1/demo/export/upload HTTP/1.1\r\nHost: x\r\n%s\r\nContent-Type: text/csv\r\nContent-Length: %d\r\n\r\n%s",
		s.auth("demo"), 2*len(half), half)
	require.NoError(t, err)
	const folder = "imports/demo/"
	await(t, func() error {
		if n := bucket.Incomplete(t, folder); n != 1 {
			return fmt.Errorf("%d uploads have begun", n)
		}
		return nil
	})
	backend.kill()
	require.Empty(t, bucket.Keys(t, folder))
	require.Equal(t, 1, bucket.Incomplete(t, folder))

	_, errOut, status := s.run(t, inBucket(bucket), "tenant", "erase", "demo", "--yes")
	require.Zero(t, status, errOut)
	require.Zero(t, bucket.Incomplete(t, folder))
}

// KITH_MAX_FILE is the maximum size of a file, and errors name it.
func TestUpload_MaxFile(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	s.serve(t, "KITH_MAX_FILE=1000")
	c := s.client("demo")
	_, err := c.Upload(t.Context(), "users.csv", strings.NewReader(strings.Repeat("x", 1000)))
	require.NoError(t, err)
	_, err = c.Upload(t.Context(), "users.csv", strings.NewReader(strings.Repeat("x", 1001)))
	var refused *client.Refused
	require.ErrorAs(t, err, &refused)
	require.Equal(t, 413, refused.Status)
	require.Equal(t, "file: is larger than 1000 bytes", refused.Message)
}
