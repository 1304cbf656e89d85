package bucket_test

import (
	"context"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/file"
	"kith/backend/file/bucket"
	"kith/backend/file/bucket/s3test"
	"kith/backend/file/filetest"
	"kith/core"
)

const (
	folder              = "imports/acme/"
	ref    core.FileRef = folder + "users_01a1fc7021e97c971ff0e2d0.csv"
)

// setKeys sets the credentials in the environment, and clears the other variables that
// the client reads.
func setKeys(t *testing.T, id, secret string) {
	t.Helper()
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": id, "AWS_SECRET_ACCESS_KEY": secret, "AWS_SESSION_TOKEN": "",
		"GS_ACCESS_KEY_ID": id, "GS_SECRET_ACCESS_KEY": secret,
		"AWS_ACCESS_KEY": "", "AWS_SECRET_KEY": "", "AWS_PROFILE": "", "AWS_REGION": "", "AWS_DEFAULT_REGION": "",
		"AWS_SHARED_CREDENTIALS_FILE": filepath.Join(t.TempDir(), "none"),
	} {
		t.Setenv(name, value)
	}
}

func start(t *testing.T) *s3test.Server {
	t.Helper()
	setKeys(t, s3test.AccessKeyID, s3test.SecretAccessKey)
	return s3test.Start(t)
}

func open(t *testing.T, url string) file.Store {
	t.Helper()
	s, err := bucket.Open(t.Context(), url)
	require.NoError(t, err)
	return s
}

func TestOpen_Kinds(t *testing.T) {
	s := start(t)
	for name, url := range map[string]string{
		"file": "file://" + t.TempDir(),
		"s3":   s.Files(),
		"gs":   "gs://" + s3test.Bucket + "/folder?endpoint=" + url.QueryEscape(s.URL),
	} {
		t.Run(name, func(t *testing.T) {
			filetest.Run(t, open(t, url))
			require.Empty(t, s.Keys(t, ""))
		})
	}
}

// Open accepts the parameters of gocloud.dev, and a folder in the path.
func TestOpen_Parameters(t *testing.T) {
	s := start(t)
	host := strings.TrimPrefix(s.URL, "http://")
	for url, key := range map[string]string{
		"s3://" + s3test.Bucket + "?use_path_style=true&disable_https=true&endpoint=" + host:           "",
		"s3://" + s3test.Bucket + "?s3ForcePathStyle=true&disable_https=true&endpoint=https://" + host: "",
		"s3://" + s3test.Bucket + "/a/folder/?region=eu-west-1&endpoint=" + s.URL:                      "a/folder/",
		"s3://" + s3test.Bucket + "?prefix=some-&endpoint=" + s.URL:                                    "some-",
		"s3://" + s3test.Bucket + "/a/folder?prefix=some-&region=r&endpoint=" + s.URL + "/":            "a/folder/some-",
		"gs://" + s3test.Bucket + "/a/folder?prefix=some-&endpoint=" + s.URL:                           "a/folder/some-",
	} {
		store := open(t, url)
		w, err := store.Create(t.Context(), ref)
		require.NoError(t, err, url)
		require.NoError(t, w.Close(), url)
		require.Equal(t, []string{key + string(ref)}, s.Keys(t, key+folder), url)
		require.NoError(t, store.Remove(t.Context(), ref), url)
		require.Empty(t, s.Keys(t, ""), url)
	}
}

func TestOpen_Refused(t *testing.T) {
	s := start(t)
	for url, want := range map[string]string{
		"ftp://b":                       "files: ftp:// is not supported; give a folder, s3://BUCKET, gs://BUCKET or file:///PATH",
		"azblob://b":                    "files: azblob:// is not supported; mount the container (blobfuse2) and give the folder, or give the s3:// URL of a gateway in front of it",
		"s3://b\x00":                    `files: "s3://b\x00" is not a URL; give a folder, s3://BUCKET, gs://BUCKET or file:///PATH`,
		"file://a/b":                    "files: the path of file://a/b is not absolute; give file:///PATH",
		"file:///a?no_tmp_dir=true":     "files: unknown parameter no_tmp_dir: file:// has no parameters; leave it out",
		"s3:///b":                       "files: s3:///b has no bucket; give s3://BUCKET",
		"s3://b":                        "files: region is missing; give s3://b?region=eu-central-1, or set AWS_REGION",
		"s3://b?region=r&ssetype=AES":   "files: unknown parameter ssetype: s3:// has endpoint, prefix, region, use_path_style, s3ForcePathStyle, disable_https, profile; leave it out",
		"s3://b?use_path_style=perhaps": "files: use_path_style=perhaps is neither true nor false",
		"s3://b?disable_https=perhaps":  "files: disable_https=perhaps is neither true nor false",
		"s3://b?endpoint=ftp://x":       "files: endpoint=ftp://x is not the address of a server; give https://HOST:PORT",
		"s3://b?endpoint=http://x/y":    "files: endpoint=http://x/y is not the address of a server; give https://HOST:PORT",
		"gs://b?region=r":               "files: unknown parameter region: gs:// has endpoint, prefix; leave it out",
		"s3://no-such-bucket?endpoint=" + s.URL: "bucket: open s3://no-such-bucket at " + strings.TrimPrefix(s.URL, "http://") +
			": no such bucket; create it, or correct the name or the region",
	} {
		_, err := bucket.Open(t.Context(), url)
		require.EqualError(t, err, want)
	}
}

func TestOpen_WrongKeys(t *testing.T) {
	s := start(t)
	for name, keys := range map[string][2]string{
		"secret": {s3test.AccessKeyID, "wrong"}, "id": {"AKIDWRONG", s3test.SecretAccessKey},
	} {
		setKeys(t, keys[0], keys[1])
		_, err := bucket.Open(t.Context(), s.Files())
		require.ErrorContains(t, err, "the server refuses the credentials; check the access key's id and its secret: ", name)
	}
}

func TestOpen_NoKeys(t *testing.T) {
	s := start(t)
	setKeys(t, "", "")
	_, err := bucket.Open(t.Context(), "gs://b")
	require.EqualError(t, err, "files: gs:// needs an HMAC key; make one with gcloud storage hmac create SERVICE_ACCOUNT, and set GS_ACCESS_KEY_ID and GS_SECRET_ACCESS_KEY")

	// A container's role, which the server of credentials does not know.
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", s.URL+"/role")
	_, err = bucket.Open(t.Context(), s.Files())
	require.ErrorContains(t, err, "files: s3:// needs credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, write them to ~/.aws/credentials, or give the machine a role (")
}

func TestOpen_SharedCredentialsFile(t *testing.T) {
	s := start(t)
	setKeys(t, "", "")
	path := filepath.Join(t.TempDir(), "credentials")
	require.NoError(t, os.WriteFile(path, []byte("[kith]\naws_access_key_id = "+s3test.AccessKeyID+"\naws_secret_access_key = "+s3test.SecretAccessKey+"\n"), 0o600))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", path)
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIDOTHER")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "a named profile takes precedence over these")
	open(t, s.Files()+"&profile=kith")
	_, err := bucket.Open(t.Context(), s.Files()+"&profile=missing")
	require.ErrorContains(t, err, "files: profile=missing cannot be read from the shared credentials file; write it there, or leave the parameter out: ")
}

// writeParts writes more than two parts, and neither closes nor aborts.
func writeParts(ctx context.Context, t *testing.T, store file.Store) file.Writer {
	t.Helper()
	w, err := store.Create(ctx, ref)
	require.NoError(t, err)
	_, err = io.WriteString(w, strings.Repeat("0123456789", 1<<20+1))
	require.NoError(t, err)
	return w
}

func requireMissing(t *testing.T, store file.Store) {
	t.Helper()
	_, err := store.Open(t.Context(), ref, 0)
	require.ErrorContains(t, err, "bucket: open: ")
}

// The parts that a crashed process had sent are not visible, and Remove removes them.
func TestCreate_ProcessCrashes(t *testing.T) {
	s := start(t)
	store := open(t, s.Files())
	writeParts(t.Context(), t, store)
	requireMissing(t, store)
	require.Empty(t, s.Keys(t, folder))
	require.Equal(t, 1, s.Incomplete(t, folder))

	require.NoError(t, store.Remove(t.Context(), ref))
	require.Zero(t, s.Incomplete(t, folder))
}

func TestCreate_AbortRemovesParts(t *testing.T) {
	s := start(t)
	store := open(t, s.Files())
	w := writeParts(t.Context(), t, store)
	require.Equal(t, 1, s.Incomplete(t, folder))
	w.Abort()
	requireMissing(t, store)
	require.Zero(t, s.Incomplete(t, folder))
	_, err := w.Write([]byte("x"))
	require.Error(t, err)
	require.Error(t, w.Close())
}

// When the context ends, nothing remains, although the removal needs a request.
func TestCreate_ContextEnds(t *testing.T) {
	s := start(t)
	store := open(t, s.Files())
	ctx, cancel := context.WithCancel(t.Context())
	w := writeParts(ctx, t, store)
	cancel()
	require.ErrorIs(t, w.Close(), context.Canceled)
	requireMissing(t, store)
	require.Zero(t, s.Incomplete(t, folder))

	w, err := store.Create(ctx, ref)
	require.NoError(t, err)
	require.ErrorIs(t, w.Close(), context.Canceled)
	requireMissing(t, store)
}

// When a part could not be sent, closing the writer fails and the file does not exist.
func TestCreate_PartIsLost(t *testing.T) {
	s := start(t)
	store := open(t, s.Files())
	ctx, cancel := context.WithCancel(t.Context())
	w := writeParts(ctx, t, store)
	cancel()
	_, err := io.WriteString(w, strings.Repeat("0123456789", 1<<20))
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, w.Close(), context.Canceled)
	requireMissing(t, store)
	require.Zero(t, s.Incomplete(t, folder))
}
