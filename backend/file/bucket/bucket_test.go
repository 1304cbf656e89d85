package bucket_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/file/bucket"
	"kith/backend/file/filetest"
)

func TestBucket_File(t *testing.T) {
	t.Parallel()
	s, err := bucket.Open(t.Context(), "file://"+t.TempDir()+"?no_tmp_dir=true")
	require.NoError(t, err)
	filetest.Run(t, s)
}

// The kinds that the command line promises are linked; whether a cloud answers
// is not asked.
func TestOpen_Kinds(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "x")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "x")
	t.Setenv("AZURE_STORAGE_ACCOUNT", "x")
	t.Setenv("AZURE_STORAGE_KEY", "eA==")
	for _, url := range []string{"s3://b?region=eu-central-1", "gs://b?anonymous=true", "azblob://b"} {
		s, err := bucket.Open(t.Context(), url)
		require.NoError(t, err, url)
		require.NoError(t, s.Close(), url)
	}
	_, err := bucket.Open(t.Context(), "ftp://b")
	require.ErrorContains(t, err, "ftp")
}
