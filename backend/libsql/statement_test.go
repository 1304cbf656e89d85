package libsql

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDatabase_StatementsBeyondTheCacheStillRun(t *testing.T) {
	t.Parallel()
	d := server(t, "file:"+filepath.Join(t.TempDir(), "a.db"))
	for i := range maxStatements + 10 {
		r, err := d.query(t.Context(), fmt.Appendf(nil, "SELECT %d", i), nil)
		require.NoError(t, err)
		require.Equal(t, []any{int64(i)}, r.values)
	}
	require.Len(t, d.statements, maxStatements)
}

func TestClassify(t *testing.T) {
	t.Parallel()
	for statement, write := range map[string]bool{
		"select 1":                             false,
		"VALUES (1)":                           false,
		"WITH a AS (SELECT 1) SELECT * FROM a": false,
		"WITH a AS (SELECT 'INSERT') SELECT [DELETE] FROM a": false,
		"WITH a AS (SELECT 1) DELETE FROM t":                 true,
		"-- select\ninsert into t values (1)":                true,
		"/* ; */ UPDATE t SET a = ';'":                       true,
		"REPLACE INTO t VALUES (1);":                         true,
	} {
		got, err := classify(statement)
		require.NoError(t, err, statement)
		require.Equal(t, write, got, statement)
	}
}
