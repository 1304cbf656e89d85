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

func made(t *testing.T, h backup.Header, large int) []byte {
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

func TestArchive_ComesBack(t *testing.T) {
	t.Parallel()
	want := backup.Header{Format: backup.Format, Kind: backup.Backup, Kith: "v1", Time: 7, Tenants: []core.TenantAlias{"acme"}, Schema: []int{1, 94}, KeyCheck: "c"}
	r, err := backup.NewReader(bytes.NewReader(made(t, want, 2<<20)))
	require.NoError(t, err)
	require.Equal(t, want, r.Header)
	var found []string
	for {
		part, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if part.Table != "" {
			lines := strings.SplitAfter(string(part.Rows), "\n")
			require.Empty(t, lines[len(lines)-1])
			for _, line := range lines[:len(lines)-1] {
				found = append(found, part.Table+" "+line[:10])
			}
			continue
		}
		content, err := io.ReadAll(part.Content)
		require.NoError(t, err)
		found = append(found, string(part.File)+" "+string(content))
	}
	require.Equal(t, []string{`user {"id":"a"}`, `user {"id":"xxx`, `user {"id":"b"}`, "imports/acme/x_1.csv a,b\n1"}, found)
	require.Equal(t, int64(3), r.Trailer.Rows["user"])
}

// Wherever a file is cut, and whatever byte of it is another, it is known: all
// but a few bits of the packing that mean nothing.
func TestVerify_CutOrChanged(t *testing.T) {
	t.Parallel()
	good := made(t, backup.Header{Format: backup.Format, Kind: backup.Backup}, 10)
	_, _, err := backup.Verify(bytes.NewReader(good))
	require.NoError(t, err)
	// What gzip does not look at: its own time, system and flags of the packing.
	const idle = 10
	refused := 0
	for i := range good {
		_, _, err := backup.Verify(bytes.NewReader(good[:i]))
		require.ErrorContains(t, err, "is cut or damaged", i)
		if i < idle {
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
		require.ErrorContains(t, err, "is cut or damaged")
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

func TestReader_RefusesWhatIsNone(t *testing.T) {
	t.Parallel()
	_, err := backup.NewReader(bytes.NewReader(made(t, backup.Header{Format: 2, Kith: "v9"}, 10)))
	require.ErrorContains(t, err, "has the format 2, and this kith reads 1: it was written by kith v9")
	_, err = backup.NewReader(strings.NewReader("SQLite format 3"))
	require.ErrorContains(t, err, "is cut or damaged")
}

// A file that is shorter or longer than was noted makes no archive.
func TestWriter_FileOfAnotherSize(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"a", "abc"} {
		w, err := backup.NewWriter(io.Discard, backup.Header{})
		require.NoError(t, err)
		require.Error(t, w.File("exports/a/b_1.csv", 2, strings.NewReader(content)))
	}
}
