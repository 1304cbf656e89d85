package file_test

import (
	"io"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/file"
	"kith/backend/file/filetest"
	"kith/core"
)

func TestDir(t *testing.T) {
	t.Parallel()
	filetest.Run(t, file.Dir(filepath.Join(t.TempDir(), "not", "yet", "there")))
}

func TestDir_StaysInside(t *testing.T) {
	t.Parallel()
	dir := file.Dir(t.TempDir())
	for _, ref := range []core.FileRef{"../x", "a/../../x", "/etc/passwd", ""} {
		_, err := dir.Create(t.Context(), ref)
		require.Error(t, err, ref)
		_, err = dir.Open(t.Context(), ref, 0)
		require.Error(t, err, ref)
		require.Error(t, dir.Remove(t.Context(), ref), ref)
	}
}

// A file that a process began before it crashed has a temporary name, and cannot be
// opened.
func TestDir_IncompleteFileIsNotVisible(t *testing.T) {
	t.Parallel()
	dir := file.Dir(t.TempDir())
	w, err := dir.Create(t.Context(), "a/b.csv")
	require.NoError(t, err)
	_, err = io.WriteString(w, "half")
	require.NoError(t, err)
	_, err = dir.Open(t.Context(), "a/b.csv", 0)
	require.Error(t, err)
	found, err := filepath.Glob(filepath.Join(string(dir), "a", "*"))
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.NoError(t, dir.Remove(t.Context(), "a/b.csv"))
	found, err = filepath.Glob(filepath.Join(string(dir), "a", "*"))
	require.NoError(t, err)
	require.Empty(t, found, "Remove removes the temporary file too")

	w, err = dir.Create(t.Context(), "a/b.csv")
	require.NoError(t, err)
	w.Abort()
	found, err = filepath.Glob(filepath.Join(string(dir), "a", "*"))
	require.NoError(t, err)
	require.Empty(t, found)
}
