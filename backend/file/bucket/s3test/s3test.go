// Package s3test runs an S3 server for tests: that of rclone serve s3, with its
// objects in memory. It verifies signatures of version 4 and checksums, and knows
// uploads in parts and ranges. It is a child process; a missing server fails the
// test.
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
	// AccessKeyID and SecretAccessKey are the key that a server takes.
	AccessKeyID     = "AKIDKITHTEST"
	SecretAccessKey = "secret-of-kith-tests"
)

// Env are the variables of a process that speaks to a server.
var Env = []string{"AWS_ACCESS_KEY_ID=" + AccessKeyID, "AWS_SECRET_ACCESS_KEY=" + SecretAccessKey, "AWS_SESSION_TOKEN="}

// region is any; the server takes what requests are signed for.
const region = "eu-central-1"

// Server is a server with one bucket.
type Server struct {
	// URL is its address, http://HOST:PORT.
	URL    string
	client minio.Core
}

// Start runs a server of the test's own, and ends it with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	command := exec.Command(binary(t), Bucket) // #nosec G204 -- tests run it, with their own arguments
	command.Env, command.Stderr = append(os.Environ(), Env...), os.Stderr
	// The server ends when this pipe does, so also when the test process is killed.
	stop, err := command.StdinPipe()
	must(t, err)
	out, err := command.StdoutPipe()
	must(t, err)
	must(t, command.Start())
	t.Cleanup(func() {
		_ = stop.Close()
		_ = command.Wait()
	})
	// The server listens before it prints where.
	line, err := bufio.NewReader(out).ReadString('\n')
	must(t, err)
	s := &Server{URL: strings.TrimSpace(line)}
	s.client.Client, err = minio.New(strings.TrimPrefix(s.URL, "http://"),
		&minio.Options{Creds: credentials.NewStaticV4(AccessKeyID, SecretAccessKey, ""), Region: region})
	must(t, err)
	return s
}

// Files is the URL of the bucket, as KITH_FILES has it.
func (s *Server) Files() string {
	return "s3://" + Bucket + "?region=" + region + "&endpoint=" + url.QueryEscape(s.URL)
}

// Keys are the objects and the folders in a folder of the bucket, whose name ends
// in a slash; the bucket itself is "".
func (s *Server) Keys(t testing.TB, folder string) (keys []string) {
	t.Helper()
	// The server takes an empty delimiter, which lists everything, for one that
	// separates every letter.
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

// Incomplete counts the uploads in parts to a folder that were neither completed
// nor aborted.
func (s *Server) Incomplete(t testing.TB, folder string) int {
	t.Helper()
	found, err := s.client.ListMultipartUploads(t.Context(), Bucket, folder, "", "", "/", 1000)
	if minio.ToErrorResponse(err).Code == "NoSuchUpload" {
		return 0 // what the server answers when there are none at all
	}
	must(t, err)
	return len(found.Uploads)
}

// binary finds the server where the Makefile puts it.
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
