package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/store"
	"kith/backend/store/sqldtest"
	"kith/core"
)

// A replica that copies the database again, because its primary was killed, is read from the new copy.
func TestReplica_AfterThePrimaryWasKilled(t *testing.T) {
	t.Parallel()
	cluster := sqldtest.StartWith(t, sqldtest.Options{Replicas: 1})
	primary, err := store.Open(cluster.PrimaryURL(), "")
	require.NoError(t, err)
	t.Cleanup(func() { _ = primary.Close() }) // the server has ended before
	primary.SetTimeout(sqldtest.Deadline)
	require.NoError(t, primary.Migrate(t.Context(), now))
	cluster.WaitForSync(t)
	replica, err := store.OpenReplica(cluster.ReplicaURL(), "")
	require.NoError(t, err)
	t.Cleanup(func() { _ = replica.Close() })
	_, err = replica.Heartbeat(t.Context())
	require.NoError(t, err)

	cluster.KillPrimary(t)
	cluster.StartPrimary(t)
	ctx, cancel := context.WithTimeout(t.Context(), sqldtest.Deadline)
	defer cancel()
	for beat := now + core.Second; ; beat += core.Second {
		writing := primary.Write(ctx, beat, func(tx *store.Tx) error { return tx.Heartbeat(ctx, beat) })
		received, reading := replica.Heartbeat(ctx)
		if err := errors.Join(writing, reading); err == nil && received > now && cluster.Replicas[0].Resets(t) > 0 {
			return
		} else {
			require.NoError(t, ctx.Err(), "received %d of %d: %v", received, beat, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
