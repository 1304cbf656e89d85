package sqldtest_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	_ "github.com/tursodatabase/libsql-client-go/libsql"

	"kith/backend/store/sqldtest"
)

func TestMain(m *testing.M) { sqldtest.Main(m) }

func open(t *testing.T, url string) *sql.DB {
	t.Helper()
	db, err := sql.Open("libsql", url)
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

func exec(t *testing.T, db *sql.DB, query string, args ...any) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), query, args...)
	require.NoError(t, err)
}

func count(t *testing.T, db *sql.DB, table string) (n int) {
	t.Helper()
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM "+table).Scan(&n))
	return n
}

func TestCluster_ReplicaSeesWriteOfPrimary(t *testing.T) {
	c := sqldtest.StartWith(t, sqldtest.Options{Replicas: 1})
	primary, replica := open(t, c.PrimaryURL()), open(t, c.ReplicaURL())
	exec(t, primary, "CREATE TABLE seen (a)")
	exec(t, primary, "INSERT INTO seen VALUES (1)")
	c.WaitForSync(t)
	require.Equal(t, 1, count(t, replica, "seen"))
}

func TestCluster_PrimarySeesWriteThroughReplica(t *testing.T) {
	c := sqldtest.StartWith(t, sqldtest.Options{Replicas: 1})
	primary, replica := open(t, c.PrimaryURL()), open(t, c.ReplicaURL())
	exec(t, replica, "CREATE TABLE through (a)")
	exec(t, replica, "INSERT INTO through VALUES (1)")
	require.Equal(t, 1, count(t, primary, "through"))
}

func TestCluster_KilledPrimaryKeepsData(t *testing.T) {
	c := sqldtest.Start(t)
	exec(t, open(t, c.PrimaryURL()), "CREATE TABLE kept AS SELECT 1")
	c.KillPrimary(t)
	c.StartPrimary(t)
	require.Equal(t, 1, count(t, open(t, c.PrimaryURL()), "kept"))
	c.WaitForSync(t)
}

// A replica that copies the database forwards reads to the primary.
func TestCluster_WaitForSyncAfterCrash(t *testing.T) {
	c := sqldtest.StartWith(t, sqldtest.Options{Replicas: 1})
	primary := open(t, c.PrimaryURL())
	exec(t, primary, "CREATE TABLE copied (a)")
	for range 20 {
		exec(t, primary, "INSERT INTO copied VALUES (randomblob(10000))")
	}
	c.WaitForSync(t)
	c.KillPrimary(t)
	c.StartPrimary(t)
	c.WaitForSync(t)
	c.PausePrimary(t)
	require.Equal(t, 20, count(t, open(t, c.ReplicaURL()), "copied"))
	require.Equal(t, 1, c.Replicas[0].Resets(t))
}

func TestCluster_StoppedReplicaCatchesUp(t *testing.T) {
	c := sqldtest.StartWith(t, sqldtest.Options{Replicas: 1})
	primary := open(t, c.PrimaryURL())
	exec(t, primary, "CREATE TABLE missed (a)")
	c.WaitForSync(t)
	c.StopReplica(t)
	exec(t, primary, "INSERT INTO missed VALUES (1)")
	c.StartReplica(t)
	c.WaitForSync(t)
	require.Equal(t, 1, count(t, open(t, c.ReplicaURL()), "missed"))
}

func TestCluster_DisconnectedReplicaServesStaleReads(t *testing.T) {
	c := sqldtest.StartWith(t, sqldtest.Options{Replicas: 1})
	primary, replica := open(t, c.PrimaryURL()), open(t, c.ReplicaURL())
	exec(t, primary, "CREATE TABLE held (a)")
	c.WaitForSync(t)
	require.Equal(t, 0, count(t, replica, "held"))

	c.DisconnectReplica(t)
	exec(t, primary, "INSERT INTO held VALUES (1)")
	require.Equal(t, 0, count(t, replica, "held"))
	// The replica rejects the write, or the context ends first.
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, err := open(t, c.ReplicaURL()).ExecContext(ctx, "INSERT INTO held VALUES (2)")
	require.Error(t, err, "a write needs the primary")

	c.ReconnectReplica(t)
	c.WaitForSync(t)
	require.Equal(t, 1, count(t, replica, "held"))
}

func TestCluster_EveryReplicaSeesWriteThroughAnother(t *testing.T) {
	c := sqldtest.StartWith(t, sqldtest.Options{Replicas: 2})
	exec(t, open(t, c.Replicas[0].URL()), "CREATE TABLE through AS SELECT 1")
	c.WaitForSync(t)
	require.Equal(t, 1, count(t, open(t, c.Replicas[1].URL()), "through"))
}

func TestCluster_AsksForItsToken(t *testing.T) {
	c := sqldtest.StartWith(t, sqldtest.Options{Replicas: 1, Auth: true})
	exec(t, open(t, c.PrimaryURL()+"?authToken="+c.Token()), "CREATE TABLE secret AS SELECT 1")
	c.WaitForSync(t)
	for _, url := range []string{c.PrimaryURL(), c.ReplicaURL()} {
		require.Error(t, open(t, url).PingContext(t.Context()), "no token")
		reader := open(t, url+"?authToken="+c.ReadToken())
		require.Equal(t, 1, count(t, reader, "secret"))
		_, err := reader.ExecContext(t.Context(), "INSERT INTO secret VALUES (2)")
		require.Error(t, err, "a token that may only read")
		require.Equal(t, 1, count(t, open(t, url+"?authToken="+c.ReadToken()), "secret"))
	}
}

func TestShared_IsOneCluster(t *testing.T) {
	require.Same(t, sqldtest.Shared(t), sqldtest.Shared(t))
	require.NoError(t, open(t, sqldtest.Shared(t).PrimaryURL()).PingContext(t.Context()))
}

func TestCluster_PausedReplicaAnswersNothing(t *testing.T) {
	c := sqldtest.StartWith(t, sqldtest.Options{Replicas: 1})
	replica := open(t, c.ReplicaURL())
	exec(t, open(t, c.PrimaryURL()), "CREATE TABLE paused (a)")
	c.WaitForSync(t)
	require.Equal(t, 0, count(t, replica, "paused"))
	c.Replicas[0].Pause(t)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := replica.ExecContext(ctx, "SELECT 1")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	c.Replicas[0].Resume(t)
	require.Equal(t, 0, count(t, replica, "paused"))
}
