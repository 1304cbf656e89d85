// Package filetest has the tests that every implementation of file.Store must pass.
package filetest

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/file"
	"kith/core"
)

const ref core.FileRef = "imports/acme/users_01a1fc7021e97c971ff0e2d0.csv"

// Run tests an empty store, and leaves it empty.
func Run(t *testing.T, s file.Store) {
	t.Helper()
	t.Run("missing", func(t *testing.T) { missing(t, s) })
	t.Run("written in chunks", func(t *testing.T) { inChunks(t, s) })
	t.Run("aborted", func(t *testing.T) { aborted(t, s) })
	t.Run("empty", func(t *testing.T) { empty(t, s) })
	t.Run("written again", func(t *testing.T) { again(t, s) })
	require.NoError(t, s.Close())
}

func missing(t *testing.T, s file.Store) {
	_, err := read(t, s, 0)
	require.Error(t, err)
	require.NoError(t, s.Remove(t.Context(), ref))
}

func inChunks(t *testing.T, s file.Store) {
	want := strings.Repeat("0123456789", 1<<20)
	w, err := s.Create(t.Context(), ref)
	require.NoError(t, err)
	defer w.Abort()
	for chunk := range 10 {
		_, err := io.WriteString(w, want[chunk<<20:(chunk+1)<<20])
		require.NoError(t, err)
	}
	_, err = read(t, s, 0)
	require.Error(t, err, "before it is closed")
	require.NoError(t, w.Close())
	w.Abort()
	for _, from := range []int{0, 1, 5 << 20, len(want) - 1, len(want)} {
		got, err := read(t, s, int64(from))
		require.NoError(t, err)
		require.True(t, got == want[from:], "from %d", from)
	}
	remove(t, s)
}

func aborted(t *testing.T, s file.Store) {
	w, err := s.Create(t.Context(), ref)
	require.NoError(t, err)
	_, err = io.WriteString(w, "something")
	require.NoError(t, err)
	w.Abort()
	w.Abort()
	_, err = read(t, s, 0)
	require.Error(t, err)
}

func empty(t *testing.T, s file.Store) {
	write(t, s, "")
	got, err := read(t, s, 0)
	require.NoError(t, err)
	require.Empty(t, got)
	remove(t, s)
}

func again(t *testing.T, s file.Store) {
	write(t, s, "first")
	write(t, s, "second")
	got, err := read(t, s, 0)
	require.NoError(t, err)
	require.Equal(t, "second", got)
	remove(t, s)
}

func write(t *testing.T, s file.Store, text string) {
	t.Helper()
	w, err := s.Create(t.Context(), ref)
	require.NoError(t, err)
	_, err = io.WriteString(w, text)
	require.NoError(t, err)
	require.NoError(t, w.Close())
}

func read(t *testing.T, s file.Store, from int64) (string, error) {
	t.Helper()
	// The context of a request ends before the next request begins.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := s.Open(ctx, ref, from)
	if err != nil {
		return "", err
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	return string(text), err
}

func remove(t *testing.T, s file.Store) {
	t.Helper()
	require.NoError(t, s.Remove(t.Context(), ref))
	_, err := read(t, s, 0)
	require.Error(t, err)
}
