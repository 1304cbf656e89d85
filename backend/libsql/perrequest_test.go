package libsql

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// With PerRequest, Open takes only what Spin supports: a file, or one server by HTTP.
func TestPerRequest_RefusesDatabases(t *testing.T) {
	t.Parallel()
	for _, config := range []Config{{URL: "ws://127.0.0.1:1"}, {URL: "libsql://db.example"}, {URL: "http://a", Fallbacks: []string{"http://b"}}} {
		config.PerRequest = true
		_, err := Open(t.Context(), config)
		require.ErrorContains(t, err, "with a connection for each request, as in Spin, a database is one file, or one libSQL server")
	}
}
