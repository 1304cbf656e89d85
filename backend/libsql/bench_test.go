package libsql

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkRead reads one row of a file, as the host does for a guest.
func BenchmarkRead(b *testing.B) {
	d, err := Open(b.Context(), Config{URL: "file:" + filepath.Join(b.TempDir(), "a.db")})
	require.NoError(b, err)
	defer d.Close()
	for _, text := range []string{"CREATE TABLE codes (k TEXT PRIMARY KEY, v TEXT)", "INSERT INTO codes VALUES ('ANNA10', 'anna')"} {
		_, _, err := d.Query(b.Context(), []byte(text), nil)
		require.NoError(b, err)
	}
	statement := []byte("SELECT v FROM codes WHERE k = ?")
	b.ReportAllocs()
	for b.Loop() {
		_, values, err := d.Connect().Query(b.Context(), statement, []any{"ANNA10"})
		if err != nil || len(values) != 1 {
			b.Fatal(values, err)
		}
	}
}
