package backup_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/backup"
	"kith/core"
)

func archive(t *testing.T, h backup.Header, large int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := backup.NewWriter(&b, h)
	require.NoError(t, err)
	require.NoError(t, w.Table("empty"))
	require.NoError(t, w.Table("user"))
	for _, line := range []string{`{"id":"a"}`, `{"id":"` + strings.Repeat("x", large) + `"}`, `{"id":"b"}`} {
		require.NoError(t, w.Row([]byte(line)))
	}
	require.NoError(t, w.File("imports/acme/x_1.csv", 5, strings.NewReader("a,b\n1")))
	done, err := w.Close()
	require.NoError(t, err)
	require.Equal(t, map[string]int64{"empty": 0, "user": 3}, done.Rows)
	require.Equal(t, int64(1), done.Files)
	return b.Bytes()
}

func TestArchive_RoundTrip(t *testing.T) {
	t.Parallel()
	want := backup.Header{Format: backup.Format, Kind: backup.Backup, Kith: "v1", Time: 7, Tenants: []core.TenantAlias{"acme"}, Schema: []int{1, 94}, KeyCheck: "c"}
	r, err := backup.NewReader(bytes.NewReader(archive(t, want, 2<<20)))
	require.NoError(t, err)
	require.Equal(t, want, r.Header)
	var found []string
	for {
		entry, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if entry.Table != "" {
			lines := strings.SplitAfter(string(entry.Rows), "\n")
			require.Empty(t, lines[len(lines)-1])
			for _, line := range lines[:len(lines)-1] {
				found = append(found, entry.Table+" "+line[:10])
			}
			continue
		}
		content, err := io.ReadAll(entry.Content)
		require.NoError(t, err)
		found = append(found, string(entry.File)+" "+string(content))
	}
	require.Equal(t, []string{`user {"id":"a"}`, `user {"id":"xxx`, `user {"id":"b"}`, "imports/acme/x_1.csv a,b\n1"}, found)
	require.Equal(t, int64(3), r.Trailer.Rows["user"])
}

// Verify detects truncation at every byte, and a change of every byte, except for a
// few bits of the gzip format that have no effect on the content.
func TestVerify_TruncatedOrChanged(t *testing.T) {
	t.Parallel()
	good := archive(t, backup.Header{Format: backup.Format, Kind: backup.Backup}, 10)
	_, _, err := backup.Verify(bytes.NewReader(good))
	require.NoError(t, err)
	// gzip ignores these header bytes: its time, system and flags.
	const ignored = 10
	refused := 0
	for i := range good {
		_, _, err := backup.Verify(bytes.NewReader(good[:i]))
		require.ErrorContains(t, err, "is truncated or damaged", i)
		require.NotContains(t, err.Error(), "after its end", i)
		if i < ignored {
			continue
		}
		bad := bytes.Clone(good)
		bad[i] ^= 0x10
		if _, _, err = backup.Verify(bytes.NewReader(bad)); err == nil {
			require.True(t, bytes.Equal(unpacked(t, good), unpacked(t, bad)), i)
			continue
		}
		require.ErrorContains(t, err, "file: ", i)
		refused++
	}
	require.Greater(t, refused, len(good)*9/10)
	for _, more := range [][]byte{{0}, []byte("more"), good} {
		_, _, err := backup.Verify(bytes.NewReader(append(bytes.Clone(good), more...)))
		require.ErrorContains(t, err, "is truncated or damaged")
	}
}

func unpacked(t *testing.T, packed []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(packed))
	require.NoError(t, err)
	all, err := io.ReadAll(r)
	require.NoError(t, err)
	return all
}

func TestReader_RefusesOtherFiles(t *testing.T) {
	t.Parallel()
	_, err := backup.NewReader(bytes.NewReader(archive(t, backup.Header{Format: 2, Kith: "v9"}, 10)))
	require.ErrorContains(t, err, "has format 2, but this version of kith reads format 1; use kith v9, which wrote it")
	_, err = backup.NewReader(strings.NewReader("SQLite format 3"))
	require.ErrorContains(t, err, "is truncated or damaged")
}

// A file that is shorter or longer than its size is an error.
func TestWriter_FileOfAnotherSize(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"a", "abc"} {
		w, err := backup.NewWriter(io.Discard, backup.Header{})
		require.NoError(t, err)
		require.Error(t, w.File("exports/a/b_1.csv", 2, strings.NewReader(content)))
	}
}
