package libsql

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/store/sqldtest"
)

func openTurn(t *testing.T, url string) *Turn {
	t.Helper()
	f, err := NewTurn(url)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f
}

func TestTurn_WhileOthersWait(t *testing.T) {
	t.Parallel()
	url := "file:" + filepath.Join(t.TempDir(), "a%20b.db") + "?mode=rwc"
	importer, edge, second := openTurn(t, url), openTurn(t, url), openTurn(t, url)
	require.NoFileExists(t, importer.path)
	require.NoError(t, edge.Done(), "which did not wait")
	require.False(t, importer.Wanted())
	require.FileExists(t, filepath.Join(filepath.Dir(importer.path), "a b.db-turn"))
	for range 2 {
		require.NoError(t, edge.Wait())
		require.NoError(t, edge.Wait(), "again")
		require.True(t, importer.Wanted())
		require.NoError(t, second.Wait())
		require.NoError(t, edge.Done())
		require.True(t, importer.Wanted(), "the second one still waits")
		require.NoError(t, second.Done())
		require.False(t, importer.Wanted())
	}
	require.NoError(t, edge.Wait())
	require.NoError(t, edge.Close())
	require.False(t, importer.Wanted())
}

// Who dies waits no more.
func TestTurn_DeadProcess(t *testing.T) {
	t.Parallel()
	f := openTurn(t, "file:"+filepath.Join(t.TempDir(), "kith.db"))
	require.False(t, f.Wanted())
	waiting := exec.Command("flock", "--no-fork", "--shared", f.path, "sleep", "600")
	require.NoError(t, waiting.Start())
	require.Eventually(t, f.Wanted, sqldtest.Deadline, time.Millisecond)
	require.NoError(t, waiting.Process.Kill())
	_ = waiting.Wait()
	require.Eventually(t, func() bool { return !f.Wanted() }, sqldtest.Deadline, time.Millisecond)
}

func TestTurn_NobodyCanTell(t *testing.T) {
	t.Parallel()
	f := openTurn(t, "file:"+filepath.Join(t.TempDir(), "missing", "kith.db"))
	require.True(t, f.Wanted())
	require.Error(t, f.Wait())
}
