package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A second key that signs is rejected. The test uses a file of its own because all
// tenants share the keys.
func TestWebhookKey_OneSigns(t *testing.T) {
	t.Parallel()
	db := onFile(t).raw(t)
	const insert = `INSERT INTO webhook_key (id, modulus, sealed, created_at, retired_at) VALUES (?, 'm', 's', 1, ?)`
	for _, key := range []struct {
		id      string
		retired any
	}{{"1", 1}, {"2", 1}, {"3", nil}} {
		_, err := db.ExecContext(t.Context(), insert, key.id, key.retired)
		require.NoError(t, err)
	}
	_, err := db.ExecContext(t.Context(), insert, "4", nil)
	require.ErrorContains(t, err, "UNIQUE constraint failed: index 'webhook_key_current'")
}
