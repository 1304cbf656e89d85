// Package s3test runs an S3 server for tests: that of rclone serve s3, with its objects
// in memory. The server verifies signatures of version 4 and checksums, and supports
// multipart uploads and ranges. It is a child process; a test fails if its binary is
// missing.
package s3test

import (
	"bufio"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"kith/backend/testenv"
)

const (
	// Bucket is the one bucket of a server.
	Bucket = "kith-files"
	// AccessKeyID and SecretAccessKey are the access key that a server accepts.
	AccessKeyID     = "AKIDKITHTEST"
	SecretAccessKey = "secret-of-kith-tests"
)

// Env has the environment variables of a client process.
var Env = []string{"AWS_ACCESS_KEY_ID=" + AccessKeyID, "AWS_SECRET_ACCESS_KEY=" + SecretAccessKey, "AWS_SESSION_TOKEN="}

// region is arbitrary; the server accepts any region.
const region = "eu-central-1"

// Server is a server with one bucket.
type Server struct {
	// URL is its address, http://HOST:PORT.
	URL    string
	client minio.Core
}

// Start runs a server until the test ends.
func Start(t testing.TB) *Server {
	t.Helper()
	command := exec.Command(binary(t), Bucket) // #nosec G204 -- tests run it, with their own arguments
	command.Env, command.Stderr = append(os.Environ(), Env...), os.Stderr
	// The server ends when this pipe is closed, so also when the test process is killed.
	stop, err := command.StdinPipe()
	must(t, err)
	out, err := command.StdoutPipe()
	must(t, err)
	must(t, command.Start())
	t.Cleanup(func() {
		_ = stop.Close()
		_ = command.Wait()
	})
	// The server listens before it prints its URL.
	line, err := bufio.NewReader(out).ReadString('\n')
	must(t, err)
	s := &Server{URL: strings.TrimSpace(line)}
	s.client.Client, err = minio.New(strings.TrimPrefix(s.URL, "http://"),
		&minio.Options{Creds: credentials.NewStaticV4(AccessKeyID, SecretAccessKey, ""), Region: region})
	must(t, err)
	return s
}

// Files returns the URL of the bucket in the form of KITH_FILES.
func (s *Server) Files() string {
	return "s3://" + Bucket + "?region=" + region + "&endpoint=" + url.QueryEscape(s.URL)
}

// Keys returns the objects and the folders in a folder of the bucket. The name of a
// folder ends in a slash; "" is the bucket itself.
func (s *Server) Keys(t testing.TB, folder string) (keys []string) {
	t.Helper()
	// The server misreads an empty delimiter, which should list everything: it splits
	// keys at every letter.
	found, err := s.client.ListObjectsV2(Bucket, folder, "", "", "/", 1000)
	must(t, err)
	for _, object := range found.Contents {
		keys = append(keys, object.Key)
	}
	for _, folder := range found.CommonPrefixes {
		keys = append(keys, folder.Prefix)
	}
	return keys
}

// Incomplete counts the multipart uploads to a folder that were neither completed nor
// aborted.
func (s *Server) Incomplete(t testing.TB, folder string) int {
	t.Helper()
	found, err := s.client.ListMultipartUploads(t.Context(), Bucket, folder, "", "", "/", 1000)
	if minio.ToErrorResponse(err).Code == "NoSuchUpload" {
		return 0 // the server's answer when it has no multipart upload
	}
	must(t, err)
	return len(found.Uploads)
}

// binary returns the path at which the Makefile builds the server.
func binary(t testing.TB) string {
	t.Helper()
	path, err := testenv.Path("bin/tools/s3server")
	must(t, err)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("s3test: %v: run make bin/tools/s3server", err)
	}
	return path
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
