package store

import (
	"context"
	"database/sql"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// While as many lists run as may, another one waits, and other reads do not wait.
func TestLists_WaitForEachOther(t *testing.T) {
	t.Parallel()
	p, err := Open("file:"+filepath.Join(t.TempDir(), "kith.db"), "")
	require.NoError(t, err)
	defer p.Close()
	var running []*sql.Rows
	for range maxLists(true) {
		rows, err := p.Lists.QueryContext(t.Context(), `SELECT 1 UNION ALL SELECT 2`)
		require.NoError(t, err)
		require.True(t, rows.Next())
		running = append(running, rows)
	}
	require.Less(t, len(running), max(2, runtime.GOMAXPROCS(0)))
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = p.Lists.QueryContext(short, `SELECT 1`)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	for range maxReaders {
		one, err := One[int](t.Context(), p.Reads, "other", `SELECT 1`)
		require.NoError(t, err)
		require.Equal(t, 1, one)
	}
	for _, rows := range running {
		require.NoError(t, rows.Close())
		require.NoError(t, rows.Err())
	}
	_, err = One[int](t.Context(), p.Lists, "next", `SELECT 1`)
	require.NoError(t, err)
}
