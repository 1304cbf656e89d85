package sqltest

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/libsql"
	"kith/backend/store/storetest"
)

// File opens a new, migrated file.
func File(t testing.TB) *sql.DB {
	t.Helper()
	return Open(t, storetest.File(t))
}

// Open opens a file by its URL without the store. The test closes it.
func Open(t testing.TB, url string) *sql.DB {
	t.Helper()
	connector, err := libsql.NewConnector(url)
	require.NoError(t, err)
	db := sql.OpenDB(connector)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}
